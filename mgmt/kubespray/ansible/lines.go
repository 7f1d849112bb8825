package ansible

import (
	"bytes"
	"strings"
)

// maxLine bounds a line of output: the recap of ten thousand hosts is one of 1.5 MB.
const maxLine = 8 << 20

// header begins the output of a run and names the callback, for whoever reads it later.
const header = "vnfkit-run "

// The callbacks that can be read.
const (
	callbackLines = "ansible.posix.jsonl"
	callbackText  = "default"
)

// lines splits what a run writes and gives it to the reader of the callback that its first line names.
type lines struct {
	reading *reading
	output  *maskWriter // nil: nobody
	begun   bool
	jsonl   bool
	text    textReader
	rest    []byte
	dropped bool // the rest of a line that was too long
}

func newLines(r *reading, output *maskWriter) *lines {
	return &lines{reading: r, output: output, text: textReader{reading: r}}
}

// Write never fails.
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

// next takes in what belongs to the present line and returns the rest.
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

// line reads the line that is kept.
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

// end ends the reading of a run that is over. A line without an end was cut off, by a full disk for example: it is
// not read, since it could end in half a secret, which nobody would know.
func (l *lines) end() {
	l.text.end()
	l.reading.end()
	if l.output != nil {
		l.output.end()
	}
}
