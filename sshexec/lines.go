package sshexec

import (
	"bytes"
	"io"
	"sync"
)

// longestLine is the number of bytes after which Lines breaks a long line.
const longestLine = 64 << 10

// Lines writes the output of several hosts to one writer, line by line and with the name of the host before each line. Use it to
// display the output of a command on many hosts:
//
//	lines := sshexec.NewLines(os.Stdout)
//	err := sshexec.Each(ctx, sshexec.Fan{}, hosts, func(ctx context.Context, h *sshexec.Host) error {
//		out := lines.Of(h.Name())
//		defer out.Close()
//		return h.Exec(ctx, sshexec.Command{Argv: []string{"uptime"}, Stdout: out, Stderr: out})
//	})
type Lines struct {
	mu sync.Mutex
	to io.Writer
}

// NewLines returns Lines that write to a writer, one Write for each line.
func NewLines(to io.Writer) *Lines { return &Lines{to: to} }

// Of returns a writer for the output of a host. Close the writer to write a last line without a newline. Lines of more than 64 KiB
// are broken. The writer is safe for concurrent use, so it can be the Stdout and the Stderr of one command.
func (l *Lines) Of(name string) io.WriteCloser {
	return &hostLines{lines: l, prefix: []byte(name + ": ")}
}

type hostLines struct {
	lines  *Lines
	prefix []byte

	mu   sync.Mutex
	rest []byte // beginning of a line without its newline
}

// Write implements io.Writer.
func (h *hostLines) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.rest = append(h.rest, p...)
	for {
		line, rest, whole := bytes.Cut(h.rest, []byte("\n"))
		if !whole && len(h.rest) < longestLine {
			return len(p), nil
		}
		if len(line) > longestLine || !whole {
			line, rest = h.rest[:longestLine], h.rest[longestLine:]
		}
		if err := h.put(line); err != nil {
			return 0, err
		}
		h.rest = append(h.rest[:0], rest...)
	}
}

// Close implements io.Closer.
func (h *hostLines) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.rest) == 0 {
		return nil
	}
	line := h.rest
	h.rest = nil
	return h.put(line)
}

// put writes a line.
func (h *hostLines) put(line []byte) error {
	h.lines.mu.Lock()
	defer h.lines.mu.Unlock()
	_, err := h.lines.to.Write(bytes.Join([][]byte{h.prefix, line, []byte("\n")}, nil))
	return err
}
