package mask

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf16"
)

// forms returns a secret as plain text, and as JSON, JSON in JSON, Go, Python, URLs and the shell write it.
func forms(secret string) []string {
	asGo := strconv.Quote(secret)
	asPython := strings.ReplaceAll(strings.ReplaceAll(secret, `\`, `\\`), `'`, `\'`)
	inQuotes := strings.ReplaceAll(secret, `'`, `'"'"'`)
	out := []string{
		secret, asGo[1 : len(asGo)-1], asPython, strings.ReplaceAll(asPython, "\n", `\n`),
		inQuotes, strings.ReplaceAll(secret, `'`, `'\''`), url.QueryEscape(secret), url.PathEscape(secret),
	}
	if inQuotes != secret {
		out = append(out, "'"+inQuotes+"'")
	}
	for _, quote := range []func(string) string{quotedHTML, quoted, quotedASCII} {
		once := quote(secret)
		out = append(out, once, quote(once))
	}
	return out
}

// quotedHTML returns text as Go's JSON encoder writes it by default, without the quotes: <, > and & as \u00XX.
func quotedHTML(text string) string {
	out, _ := json.Marshal(text) // a string always encodes
	return string(out[1 : len(out)-1])
}

// quoted returns text as JSON writes it, without the quotes.
func quoted(text string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string always encodes
	line := strings.TrimSuffix(out.String(), "\n")
	return line[1 : len(line)-1]
}

// quotedASCII returns text as Python's JSON encoder writes it, without the quotes: characters beyond ASCII as \uXXXX.
func quotedASCII(text string) string {
	var out strings.Builder
	for _, c := range quoted(text) {
		switch {
		case c < 0x80:
			out.WriteRune(c)
		case c > 0xffff:
			high, low := utf16.EncodeRune(c)
			fmt.Fprintf(&out, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&out, `\u%04x`, c)
		}
	}
	return out.String()
}
