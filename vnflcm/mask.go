package vnflcm

import (
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// masker replaces known secrets in texts that may quote them: errors of commands, events. It is the second
// net; the first is that secrets are not put into texts.
type masker struct{ forms []string }

// shortest secret that is masked: shorter ones would mask half of every sentence and protect nothing.
const shortest = 3

// shortestLine of a secret of several lines (a private key) that is masked alone: outputs are cut into lines.
const shortestLine = 8

func newMasker(secrets []string) *masker {
	forms := map[string]bool{}
	add := func(s string) {
		for _, form := range quoted(s) {
			if len(form) >= shortest {
				forms[form] = true
			}
		}
	}
	slices.Sort(secrets)
	for _, s := range slices.Compact(secrets) {
		add(s)
		add(strings.TrimSpace(s))
		lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
		for _, line := range lines {
			if len(lines) > 1 && len(line) >= shortestLine {
				add(line)
			}
		}
	}
	return &masker{sortedKeys(forms)}
}

// quoted returns a secret as it is and as the usual ways of quoting write it.
func quoted(s string) []string {
	if s == "" {
		return nil
	}
	var plainJSON strings.Builder
	e := json.NewEncoder(&plainJSON)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	asJSON, _ := json.Marshal(s)
	asGo := strconv.Quote(s)
	inner := strings.TrimSpace(plainJSON.String())
	return []string{s, string(asJSON[1 : len(asJSON)-1]), inner[1 : len(inner)-1], asGo[1 : len(asGo)-1],
		strings.ReplaceAll(s, `'`, `'"'"'`), strings.ReplaceAll(s, `'`, `'\''`), url.QueryEscape(s), url.PathEscape(s)}
}

func (m *masker) apply(text string) string { return maskURLs(m.cover(text)) }

// cover replaces every stretch of text that is covered by secrets. Secrets may overlap in it: replacing them
// one after the other would leave the rest of the second.
func (m *masker) cover(text string) string {
	type span struct{ from, to int }
	var spans []span
	for _, form := range m.forms {
		for at := 0; ; {
			i := strings.Index(text[at:], form)
			if i < 0 {
				break
			}
			spans = append(spans, span{at + i, at + i + len(form)})
			at += i + len(form)
		}
	}
	slices.SortFunc(spans, func(a, b span) int { return a.from - b.from })
	var out strings.Builder
	done := 0
	for i := 0; i < len(spans); {
		whole := spans[i]
		for i++; i < len(spans) && spans[i].from <= whole.to; i++ {
			whole.to = max(whole.to, spans[i].to)
		}
		out.WriteString(text[done:whole.from] + Mask)
		done = whole.to
	}
	out.WriteString(text[done:])
	return out.String()
}

// urlCredentials is the user info of a URL, as lenient as the values found in requests: ports that are no
// numbers, passwords with an @.
var urlCredentials = regexp.MustCompile(`([a-zA-Z][a-zA-Z0-9+.-]*://)([^/\s"'<>]+)@`)

func maskURLs(text string) string {
	if !strings.Contains(text, "://") {
		return text // the usual case, and texts can be long
	}
	return urlCredentials.ReplaceAllString(text, "${1}"+Mask+"@")
}

// urlPasswords are the passwords of the URLs in a value, as written and decoded.
func urlPasswords(value string) (found []string) {
	if !strings.Contains(value, "://") {
		return nil
	}
	for _, match := range urlCredentials.FindAllStringSubmatch(value, -1) {
		if _, password, ok := strings.Cut(match[2], ":"); ok {
			found = append(found, password)
			if decoded, err := url.PathUnescape(password); err == nil {
				found = append(found, decoded)
			}
		}
	}
	return found
}

// secretsIn returns the scalar values at the given paths or with a telling name, and the passwords of all
// URLs.
func secretsIn(p Params, paths []string) []string {
	var tree any
	if err := decodeUseNumber(p.Reveal(), &tree); err != nil {
		return nil
	}
	var found []string
	walkScalars("", tree, func(path, value string) {
		secret := slices.Contains(paths, path) || secretName(path)
		if secret {
			found = append(found, value)
		}
		// Parameters of charts and scripts come as name=value.
		if name, assigned, ok := strings.Cut(value, "="); ok && (secret || secretName(name)) {
			found = append(found, assigned)
		}
		found = append(found, urlPasswords(value)...)
	})
	return found
}

var unseparated = strings.NewReplacer("_", "", "-", "")

// secretName recognises secrets by their attribute where no driver has declared them.
func secretName(path string) bool {
	name := strings.ToLower(path[strings.LastIndex(path, ".")+1:])
	name = unseparated.Replace(name)
	for _, part := range []string{"password", "passwd", "passphrase", "secret", "token", "credential",
		"privatekey", "clientkey", "certificatekey", "sshkey", "apikey", "accesskey", "kubeconfig"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

func walkScalars(path string, tree any, visit func(path, value string)) {
	switch t := tree.(type) {
	case map[string]any:
		for key, child := range t {
			walkScalars(join(path, key), child, visit)
		}
	case []any:
		for _, child := range t {
			walkScalars(path+"[]", child, visit)
		}
	case string:
		visit(path, t)
	case json.Number:
		visit(path, t.String())
	}
}

// SecretPaths returns the paths of the Secret fields in a parameter struct, in the form of SecretParams.
func SecretPaths(params any) []string {
	var out []string
	walkTypes("", reflect.TypeOf(params), func(path string) { out = append(out, path) })
	slices.Sort(out)
	return out
}

func walkTypes(path string, t reflect.Type, visit func(path string)) {
	switch {
	case t == reflect.TypeFor[Secret]():
		visit(path)
	case t.Kind() == reflect.Pointer:
		walkTypes(path, t.Elem(), visit)
	case t.Kind() == reflect.Slice:
		walkTypes(path+"[]", t.Elem(), visit)
		walkTypes(path, t.Elem(), visit) // a lone element may stand for the list
	case t.Kind() == reflect.Struct:
		for name, index := range jsonFields(t) {
			walkTypes(join(path, name), t.FieldByIndex(index).Type, visit)
		}
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
