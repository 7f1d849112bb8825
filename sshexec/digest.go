package sshexec

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// digestQuickly and digestFast define the shell function d, which digests its standard input. digestQuickly prefers the tool that
// starts fastest, digestFast the tool that is fastest with much input. The first word of the output is the digest.
const (
	digestQuickly = `d() { if command -v sha256sum >/dev/null 2>&1; then sha256sum; elif command -v shasum >/dev/null 2>&1; then shasum -a 256; else openssl dgst -sha256 -r; fi; }; `
	digestFast    = `d() { if command -v openssl >/dev/null 2>&1; then openssl dgst -sha256 -r; elif command -v sha256sum >/dev/null 2>&1; then sha256sum; else shasum -a 256; fi; }; `
)

// digestScript digests the first $2 bytes of the file $1.
const digestScript = `LC_ALL=C; export LC_ALL; ` + digestFast + `[ -r "$1" ] || { cat "$1" >/dev/null; exit 1; }; ` +
	`if [ "$(($(wc -c <"$1") + 0))" = "$2" ]; then d <"$1"; else head -c "$2" "$1" | d; fi`

// digestOf returns the digest, in hex, of the first size bytes of a file of the host.
func (h *Host) digestOf(ctx context.Context, f File, size int64) (string, error) {
	out, err := h.Output(ctx, Command{
		Argv: []string{"/bin/sh", "-c", digestScript, "sh", f.Path, fmt.Sprint(size)},
		Root: f.Root, Grace: time.Second, does: doing("digest", f.Path),
	})
	if err != nil {
		return "", h.fileFault("digest", f.Path, err)
	}
	return firstWord(string(out)), nil
}

func firstWord(line string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
	return word
}

// rangesScript digests parts of the file $1. Each line of standard input has the offset and the length of a part, both in units.
const rangesScript = `LC_ALL=C; export LC_ALL; ` + digestFast +
	`while read -r at n; do dd if="$1" bs=1048576 skip="$at" count="$n" 2>/dev/null | d || exit 1; done`

// ranges computes digests of parts of a file on the host, one after the other, while more parts are requested.
type ranges struct {
	ready chan struct{} // receives when a part was requested or close was called
	ended chan error

	mu     sync.Mutex
	asked  bytes.Buffer // requests that the command has not read yet
	closed bool
}

// startRanges starts the command. It calls answer with each digest, in the order of the requests. An error of answer ends the
// command.
func (h *Host) startRanges(ctx context.Context, name string, root bool, answer func(digest string) error) *ranges {
	r := &ranges{ready: make(chan struct{}, 1), ended: make(chan error, 1)}
	c := Command{
		Argv:  []string{"/bin/sh", "-c", rangesScript, "sh", name},
		Stdin: r, Stdout: &lineWriter{line: func(l string) error { return answer(firstWord(l)) }},
		Root: root, Grace: time.Second, does: doing("digest parts of", name),
	}
	started := h.pool.spawn(func() {
		stop := context.AfterFunc(ctx, r.close)
		defer stop()
		err := h.Exec(ctx, c)
		r.close()
		r.ended <- err
	})
	if !started {
		r.ended <- h.fail(ErrClosed)
	}
	return r
}

// ask requests one more digest and does not wait for it.
func (r *ranges) ask(c chunk) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = fmt.Fprintf(&r.asked, "%d %d\n", c.offset/unit, (c.size+unit-1)/unit)
	r.wake()
}

// close ends the list of requests.
func (r *ranges) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wake()
}

func (r *ranges) wake() {
	select {
	case r.ready <- struct{}{}:
	default:
	}
}

// wait waits for the outstanding answers.
func (r *ranges) wait(ctx context.Context) error {
	r.close()
	select {
	case err := <-r.ended:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Read returns the requests as text for the command.
func (r *ranges) Read(p []byte) (int, error) {
	for {
		r.mu.Lock()
		n, _ := r.asked.Read(p)
		ended := r.closed && r.asked.Len() == 0
		if ended {
			r.wake() // so that the next Read does not wait
		}
		r.mu.Unlock()
		switch {
		case n > 0:
			return n, nil
		case ended:
			return 0, io.EOF
		}
		<-r.ready
	}
}

// atMost hands over n lines. A host that prints more is not listened to any
// longer: it was not asked for them.
func atMost(n int, line func(string) error) *lineWriter {
	lines := 0
	return &lineWriter{line: func(text string) error {
		if lines++; lines > n {
			return &LimitError{What: "lines of output", Limit: int64(n)}
		}
		return line(text)
	}}
}

// lineWriter passes whole lines to line.
type lineWriter struct {
	line func(string) error
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	w.rest = append(w.rest, p...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			break
		}
		if err := w.line(string(line)); err != nil {
			return 0, err
		}
		w.rest = rest
	}
	if len(w.rest) > outputBytes {
		return 0, &LimitError{What: "bytes in a line", Limit: outputBytes}
	}
	return len(p), nil
}
