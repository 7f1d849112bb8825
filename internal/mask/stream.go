package mask

import (
	"io"
	"strings"
)

// Writer masks a stream. It holds back bytes that may be the beginning of a secret.
type Writer struct {
	to     io.Writer
	masker *Masker
	held   string
	// covered is the number of bytes of held for which *** has been written already; 0 if held adjoins this ***, and -1
	// without one.
	covered int
	err     error
}

// NewWriter returns a Writer that writes to another one.
func (m *Masker) NewWriter(to io.Writer) *Writer { return &Writer{to: to, masker: m, covered: -1} }

// Write implements io.Writer. It never returns an error: after a failed write, it discards the stream.
func (w *Writer) Write(p []byte) (int, error) {
	w.flush(w.held+string(p), max(0, w.masker.longest-1))
	return len(p), nil
}

// EndLine writes the bytes that were held back up to the last end of a line. It drops a line without end: the line may end
// with a part of a secret, which cannot be recognized.
func (w *Writer) EndLine() {
	whole := w.held[:strings.LastIndexByte(w.held, '\n')+1]
	w.covered = min(w.covered, len(whole))
	w.flush(whole, 0)
	w.held = ""
}

// flush writes text except for its last keep bytes.
func (w *Writer) flush(text string, keep int) {
	safe := max(0, len(text)-keep)
	spans := w.masker.spans(text, nil)
	if w.covered >= 0 { // a secret that overlaps or adjoins the last *** needs no other one
		spans = w.behindCovered(spans)
	}
	var out strings.Builder
	at, covered := 0, -1
	for i, s := range spans {
		if s.Start > safe || s.Start == safe && (i > 0 || w.covered < 0) {
			break
		}
		out.WriteString(text[at:s.Start])
		if i > 0 || w.covered < 0 {
			out.WriteString(Text)
		}
		at, covered = min(s.End, safe), s.End-safe
	}
	out.WriteString(text[at:safe])
	w.held, w.covered = text[safe:], max(-1, covered)
	if w.err == nil && out.Len() > 0 {
		_, w.err = io.WriteString(w.to, out.String())
	}
}

// behindCovered puts the covered bytes before the ranges that follow.
func (w *Writer) behindCovered(spans []Span) []Span {
	out := []Span{{0, w.covered}}
	for _, s := range spans {
		out = merge(out, s)
	}
	return out
}

// Tail keeps the last bytes of a stream. Most is their number without ***.
type Tail struct {
	Masker *Masker
	Most   int

	kept []byte
	cut  bool
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	limit := t.Most + t.Masker.longest
	t.kept = append(t.kept, p...)
	if drop := len(t.kept) - limit; drop > 0 {
		t.kept = append(t.kept[:0], t.kept[drop:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns the masked end of the stream as valid UTF-8. Tail keeps more bytes than Most, to recognize a secret that
// begins before.
func (t *Tail) String() string {
	from := 0
	if t.cut {
		from = t.Masker.longest
	}
	return strings.ToValidUTF8(t.Masker.MaskFrom(string(t.kept), from), "\uFFFD")
}
