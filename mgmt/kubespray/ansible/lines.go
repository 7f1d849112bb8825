package ansible

import (
	"bytes"
	"strings"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// maxLine bounds a line of output. The recap of ten thousand hosts is one line of 1.5 MB.
const maxLine = 8 << 20

// header begins the output of a run and names the callback, so that a later process knows how to read the output.
const header = "vnfkit-run "

// The callbacks whose output can be read.
const (
	callbackLines = "ansible.posix.jsonl"
	callbackText  = "default"
)

// lines splits the output of a run into lines and passes them to the reader of the callback that the first line names.
type lines struct {
	reading *reading
	output  *mask.Writer // nil discards the output
	begun   bool
	jsonl   bool
	text    textReader
	rest    []byte
	dropped bool // the line was too long, and its rest was dropped
}

func newLines(r *reading, output *mask.Writer) *lines {
	return &lines{reading: r, output: output, text: textReader{reading: r}}
}

// Write implements io.Writer. It never returns an error.
func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 && !l.begun {
		p = l.next(p)
	}
	if l.output != nil && len(p) > 0 {
		_, _ = l.output.Write(p)
	}
	for len(p) > 0 {
		p = l.next(p)
	}
	return n, nil
}

// next adds the bytes up to the end of the current line and returns the remaining bytes.
func (l *lines) next(p []byte) []byte {
	end := bytes.IndexByte(p, '\n')
	if end < 0 {
		l.keep(p)
		return nil
	}
	l.keep(p[:end])
	l.line()
	return p[end+1:]
}

func (l *lines) keep(p []byte) {
	if room := maxLine - len(l.rest); len(p) > room {
		p, l.dropped = p[:room], true
	}
	l.rest = append(l.rest, p...)
}

// line reads the line that has been collected.
func (l *lines) line() {
	text, dropped := l.rest, l.dropped
	l.rest, l.dropped = l.rest[:0], false
	text = bytes.TrimSuffix(text, []byte("\r"))
	if !l.begun {
		l.begun = true
		if callback, ours := strings.CutPrefix(string(cutBytes(text, 100)), header); ours {
			l.jsonl = callback == callbackLines
			return
		}
		if l.output != nil {
			_, _ = l.output.Write(append(bytes.Clone(text), '\n'))
		}
	}
	if !l.jsonl {
		l.text.line(string(text))
		return
	}
	switch {
	case dropped && readLongLine(l.reading, text):
	case !dropped && readLine(l.reading, text):
	default:
		l.reading.say(string(text))
	}
}

func cutBytes(p []byte, limit int) []byte { return p[:min(len(p), limit)] }

// end finishes reading after the run has ended. It drops a last line without a line break, which was cut off, for example
// by a full disk: the line may end with half a secret, which cannot be recognized and masked.
func (l *lines) end() {
	l.text.end()
	l.reading.end()
	if l.output != nil {
		l.output.EndLine()
	}
}
