package ansible

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
)

// masked replaces a secret.
const masked = "***"

// minLine is the length from which each line of a secret with several lines is masked, too.
const minLine = 8

// masker replaces secrets in text. It finds the forms of secrets by their first two bytes, so that the time does not grow
// with the number of secrets: each node may have a different password.
type masker struct {
	forms   map[uint16][]string
	single  map[byte]bool // secrets of one byte
	longest int
	count   int
}

func newMasker(secrets []string) *masker {
	m := &masker{forms: map[uint16][]string{}, single: map[byte]bool{}}
	for _, secret := range secrets {
		m.add(secret)
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				m.add(line)
			}
		}
	}
	return m
}

// add adds a secret in all its forms: unchanged, and as JSON, JSON in JSON, the shell, Python and URLs write it.
func (m *masker) add(secret string) {
	single := strings.ReplaceAll(strings.ReplaceAll(secret, `\`, `\\`), `'`, `\'`)
	forms := []string{
		secret, single, strings.ReplaceAll(single, "\n", `\n`),
		strings.ReplaceAll(secret, `'`, `'"'"'`), strings.ReplaceAll(secret, `'`, `'\''`), url.QueryEscape(secret), url.PathEscape(secret),
	}
	for _, quote := range []func(string) string{quoted, quotedASCII} {
		once := quote(secret)
		forms = append(forms, once, quote(once))
	}
	for _, form := range forms {
		m.form(form)
	}
}

func (m *masker) form(form string) {
	switch len(form) {
	case 0:
		return
	case 1:
		m.single[form[0]] = true
	default:
		key := uint16(form[0])<<8 | uint16(form[1])
		if slices.Contains(m.forms[key], form) {
			return
		}
		m.forms[key] = append(m.forms[key], form)
	}
	m.count++
	m.longest = max(m.longest, len(form))
}

// quoted returns text as JSON writes it, without the quotes.
func quoted(text string) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(text); err != nil {
		return ""
	}
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

// span is a range of text that is covered by secrets.
type span struct{ start, end int }

// spans returns the ranges of text that are covered by secrets, sorted and merged. The first covered bytes count as
// covered.
func (m *masker) spans(text string, covered int) []span {
	var out []span
	if covered > 0 {
		out = append(out, span{0, covered})
	}
	cover := func(start, end int) {
		if n := len(out); n > 0 && start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, end)
			return
		}
		out = append(out, span{start, end})
	}
	for i := range len(text) {
		if m.single[text[i]] {
			cover(i, i+1)
		}
		if i+1 == len(text) {
			break
		}
		for _, form := range m.forms[uint16(text[i])<<8|uint16(text[i+1])] {
			if strings.HasPrefix(text[i:], form) {
				cover(i, i+len(form))
			}
		}
	}
	return out
}

// mask replaces every range that is covered by secrets, so that no part of a secret remains where secrets overlap.
func (m *masker) mask(text string) string {
	if m.count == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, s := range m.spans(text, 0) {
		out.WriteString(text[at:s.start])
		out.WriteString(masked)
		at = s.end
	}
	out.WriteString(text[at:])
	return out.String()
}

// maskWriter masks a stream. It holds back bytes that could be the beginning of a secret.
type maskWriter struct {
	to      io.Writer
	masker  *masker
	kept    string
	covered int // bytes of kept for which *** has been written already
	err     error
}

// Write implements io.Writer. It never returns an error, see Play.Output.
func (w *maskWriter) Write(p []byte) (int, error) {
	w.flush(w.kept+string(p), max(0, w.masker.longest-1))
	return len(p), nil
}

// end writes the bytes that were held back, up to the last end of a line, see lines.end.
func (w *maskWriter) end() {
	whole := w.kept[:strings.LastIndexByte(w.kept, '\n')+1]
	w.covered = min(w.covered, len(whole))
	w.flush(whole, 0)
}

// flush writes text except for its last keep bytes.
func (w *maskWriter) flush(text string, keep int) {
	safe := max(0, len(text)-keep)
	var out strings.Builder
	at, covered := 0, 0
	for i, s := range w.masker.spans(text, w.covered) {
		if s.start >= safe {
			break
		}
		out.WriteString(text[at:s.start])
		if i > 0 || w.covered == 0 {
			out.WriteString(masked)
		}
		at, covered = min(s.end, safe), s.end-safe
	}
	out.WriteString(text[at:safe])
	w.kept, w.covered = text[safe:], max(0, covered)
	if w.err == nil && out.Len() > 0 {
		_, w.err = io.WriteString(w.to, out.String())
	}
}
