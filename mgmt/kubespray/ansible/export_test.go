package ansible

import (
	"io"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// Read reads the output of a run, in pieces of this many bytes, and returns the recap.
func Read(text []byte, piece int, secrets []string, output io.Writer, observe func(Event)) map[string]HostRecap {
	m := mask.New(secrets...)
	r := newReading(observe, m)
	l := newLines(r, Play{Output: output}.output(m))
	for len(text) > 0 {
		n := min(piece, len(text))
		_, _ = l.Write(text[:n])
		text = text[n:]
	}
	l.end()
	return r.recap
}

// Header returns the first line of a run with this callback.
func Header(callback string) string { return header + callback + "\n" }
