// Package mask replaces secrets in texts and streams by ***.
//
// A [Masker] finds every secret that it was made with, also in the forms in which JSON, Go, Python, URLs and the shell write
// it, and each long line of a secret with several lines. It replaces every range that is covered by secrets as a whole, so
// that no part of a secret remains where secrets overlap or contain each other.
package mask

import (
	"maps"
	"slices"
	"strings"
)

// Text replaces a secret.
const Text = "***"

// minLine is the length from which each line of a secret with several lines is masked, too: programs print keys indented
// or line by line.
const minLine = 8

// Masker replaces secrets in texts. The forms of secrets are sorted, so that neither many secrets nor many lines of a secret make it
// slow: each machine may have a different password, and clients choose secrets.
type Masker struct {
	forms   []form    // by text
	begins  [256]bool // the bytes with which forms begin
	longest int
}

// form is one way to write some secrets.
type form struct {
	text    string
	secrets []string
	shorter int // index of the longest other form with which text begins; -1 without
}

// Span is a range of a text, in bytes.
type Span struct{ Start, End int }

// New returns a Masker of these secrets. It ignores empty ones.
func New(secrets ...string) *Masker {
	var all []string
	for _, secret := range secrets {
		all = append(all, parts(secret)...)
	}
	slices.Sort(all)
	written := map[string][]string{}
	for _, part := range slices.Compact(all) {
		for _, text := range forms(part) {
			if of := written[text]; text != "" && (len(of) == 0 || of[len(of)-1] != part) {
				written[text] = append(of, part)
			}
		}
	}
	m := &Masker{}
	for _, text := range slices.Sorted(maps.Keys(written)) {
		m.add(form{text: text, secrets: written[text]})
	}
	return m
}

// parts returns a secret, the secret without white space around it, and its long lines.
func parts(secret string) []string {
	out := []string{secret}
	if trimmed := strings.TrimSpace(secret); len(trimmed) > 1 {
		out = append(out, trimmed)
	}
	for line := range strings.FieldsFuncSeq(secret, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); len(line) >= minLine {
			out = append(out, line)
		}
	}
	return out
}

// add adds a form that follows all others in their order.
func (m *Masker) add(f form) {
	f.shorter = len(m.forms) - 1
	for f.shorter >= 0 && !strings.HasPrefix(f.text, m.forms[f.shorter].text) {
		f.shorter = m.forms[f.shorter].shorter
	}
	m.forms = append(m.forms, f)
	m.begins[f.text[0]] = true
	m.longest = max(m.longest, len(f.text))
}

// Longest returns the length of the longest text that Mask replaces, in bytes. It is 0 without secrets.
func (m *Masker) Longest() int { return m.longest }

// Mask returns text with *** instead of every range that is covered by secrets.
func (m *Masker) Mask(text string) string { return replace(text, m.spans(text, nil)) }

// MaskFrom masks text and returns what begins at the byte offset from. It also masks the rest of a secret that begins
// before from.
func (m *Masker) MaskFrom(text string, from int) string {
	var after []Span
	for _, s := range m.spans(text, nil) {
		if s.End > from {
			after = append(after, Span{max(s.Start, from) - from, s.End - from})
		}
	}
	return replace(text[from:], after)
}

// MaskIf is Mask, but leaves a secret where shows returns false. secret is the secret, or the line of it, that stands at
// a range of text in one of its forms.
func (m *Masker) MaskIf(text string, shows func(secret string, at Span) bool) string {
	return replace(text, m.spans(text, shows))
}

// spans returns the ranges of text that are covered by secrets, sorted; ranges that overlap or adjoin are merged.
func (m *Masker) spans(text string, shows func(secret string, at Span) bool) (out []Span) {
	for i := range len(text) {
		if !m.begins[text[i]] {
			continue
		}
		for at := m.find(text[i:]); at >= 0; at = m.forms[at].shorter {
			f, s := m.forms[at], Span{i, i + len(m.forms[at].text)}
			if shows == nil || slices.ContainsFunc(f.secrets, func(secret string) bool { return shows(secret, s) }) {
				out = merge(out, s)
				break // it covers the shorter ones
			}
		}
	}
	return out
}

// find returns the index of the longest form with which text begins, -1 without. In the order of texts, the form is the last one up to
// text, or one with which the last one begins.
func (m *Masker) find(text string) int {
	at, found := slices.BinarySearchFunc(m.forms, text, func(f form, text string) int { return strings.Compare(f.text, text) })
	if found {
		return at
	}
	if at--; at < 0 {
		return -1
	}
	same, last := 0, m.forms[at].text
	for same < min(len(text), len(last)) && text[same] == last[same] {
		same++
	}
	for at >= 0 && len(m.forms[at].text) > same {
		at = m.forms[at].shorter
	}
	return at
}

// merge adds a range that starts at or behind the start of the last range.
func merge(out []Span, s Span) []Span {
	if n := len(out); n > 0 && s.Start <= out[n-1].End {
		out[n-1].End = max(out[n-1].End, s.End)
		return out
	}
	return append(out, s)
}

// replace replaces ranges that are sorted and do not overlap.
func replace(text string, spans []Span) string {
	if len(spans) == 0 {
		return text
	}
	var out strings.Builder
	at := 0
	for _, s := range spans {
		out.WriteString(text[at:s.Start])
		out.WriteString(Text)
		at = s.End
	}
	out.WriteString(text[at:])
	return out.String()
}
