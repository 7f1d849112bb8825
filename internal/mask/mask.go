// Package mask replaces secrets in texts and streams by ***.
//
// A [Masker] finds every secret that it was made with, also in the forms in which JSON, Go, Python, URLs and the shell write
// it, and each long line of a secret with several lines. It replaces every range that is covered by secrets as a whole, so
// that no part of a secret remains where secrets overlap or contain each other.
package mask

import (
	"slices"
	"strings"
)

// Text replaces a secret.
const Text = "***"

// minLine is the length from which each line of a secret with several lines is masked, too: programs print keys indented
// or line by line.
const minLine = 8

// Masker replaces secrets in texts. It finds the forms of secrets by their first two bytes, so that the time does not
// grow with the number of secrets: each machine may have a different password.
type Masker struct {
	pairs   map[[2]byte][]form // by the first two bytes
	single  map[byte]form      // secrets of one byte
	begins  [256]bool          // the bytes with which forms begin
	longest int
}

// form is one way to write a secret.
type form struct{ text, secret string }

// Span is a range of a text, in bytes.
type Span struct{ Start, End int }

// New returns a Masker of these secrets. It ignores empty ones.
func New(secrets ...string) *Masker {
	m := &Masker{pairs: map[[2]byte][]form{}, single: map[byte]form{}}
	for _, secret := range secrets {
		for _, part := range parts(secret) {
			for _, text := range forms(part) {
				m.add(form{text, part})
			}
		}
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
	slices.Sort(out)
	return slices.Compact(out)
}

func (m *Masker) add(f form) {
	if f.text == "" {
		return
	}
	m.begins[f.text[0]] = true
	m.longest = max(m.longest, len(f.text))
	if len(f.text) == 1 {
		m.single[f.text[0]] = f
		return
	}
	key := [2]byte{f.text[0], f.text[1]}
	if !slices.Contains(m.pairs[key], f) {
		m.pairs[key] = append(m.pairs[key], f)
	}
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
	found := func(f form, at int) {
		if s := (Span{at, at + len(f.text)}); shows == nil || shows(f.secret, s) {
			out = merge(out, s)
		}
	}
	for i := range len(text) {
		if !m.begins[text[i]] {
			continue
		}
		if f, ok := m.single[text[i]]; ok {
			found(f, i)
		}
		if i+1 == len(text) {
			break
		}
		for _, f := range m.pairs[[2]byte{text[i], text[i+1]}] {
			if strings.HasPrefix(text[i:], f.text) {
				found(f, i)
			}
		}
	}
	return out
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
