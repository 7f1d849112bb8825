package sshexec

import (
	"slices"
	"strings"

	"al.essio.dev/pkg/shellescape"
)

// masker replaces secrets in text by ***.
type masker struct{ patterns []string }

// minLine is the length from which single lines of a secret of several lines
// are secret, too: programs print keys indented or line by line.
const minLine = 8

func newMasker(secrets ...string) masker {
	var m masker
	for _, s := range secrets {
		m.add(s)
		for line := range strings.Lines(s) {
			if line = strings.TrimSpace(line); len(line) >= minLine {
				m.add(line)
			}
		}
	}
	return m
}

// add adds a secret, as plain text and as it appears within a quoted word.
func (m *masker) add(secret string) {
	forms := []string{
		secret,
		shellescape.Quote(secret),
		strings.ReplaceAll(secret, `'`, `'"'"'`),
		strings.ReplaceAll(secret, `'`, `'\''`),
	}
	for _, f := range forms {
		if secret != "" && !slices.Contains(m.patterns, f) {
			m.patterns = append(m.patterns, f)
		}
	}
}

func (m masker) longest() int {
	n := 0
	for _, p := range m.patterns {
		n = max(n, len(p))
	}
	return n
}

// mask replaces every stretch of text that is covered by secrets. Secrets may
// overlap and contain each other: no piece of any of them remains.
func (m masker) mask(text string) string { return m.maskFrom(text, 0) }

// maskFrom masks text and returns what begins at the byte offset from. A secret
// that begins before is masked all the same.
func (m masker) maskFrom(text string, from int) string {
	var out strings.Builder
	at := from
	for _, s := range m.spans(text) {
		if s.end <= at {
			continue
		}
		if s.start > at {
			out.WriteString(text[at:s.start])
		}
		out.WriteString(masked)
		at = s.end
	}
	out.WriteString(text[at:])
	return out.String()
}

type span struct{ start, end int }

// spans returns the stretches covered by secrets, in order, merged.
func (m masker) spans(text string) []span {
	var found []span
	for _, p := range m.patterns {
		for at := 0; ; {
			i := strings.Index(text[at:], p)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(p)})
			at += i + 1 // a secret may overlap itself
		}
	}
	slices.SortFunc(found, func(a, b span) int { return a.start - b.start })
	var merged []span
	for _, s := range found {
		if n := len(merged); n > 0 && s.start <= merged[n-1].end {
			merged[n-1].end = max(merged[n-1].end, s.end)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// tailBytes bounds how much standard error an error carries.
const tailBytes = 4096

// tail keeps the last bytes written to it.
type tail struct {
	masker masker
	kept   []byte
	cut    bool // something was dropped
}

func (t *tail) Write(p []byte) (int, error) {
	limit := tailBytes + t.masker.longest()
	t.kept = append(t.kept, p...)
	if drop := len(t.kept) - limit; drop > 0 {
		t.kept = append(t.kept[:0], t.kept[drop:]...)
		t.cut = true
	}
	return len(p), nil
}

// text returns the masked end. What comes before the limit is only there to
// recognise a secret that begins there.
func (t *tail) text() string {
	from := 0
	if t.cut {
		from = t.masker.longest()
	}
	return strings.ToValidUTF8(t.masker.maskFrom(string(t.kept), from), "\uFFFD")
}
