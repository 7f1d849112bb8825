package sshtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
)

// buffers is a pool of copy buffers, because there are many commands and most of them produce little output.
var buffers = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// copyAll copies as io.Copy does, with a buffer from the pool.
func copyAll(to io.Writer, from io.Reader) (int64, error) {
	buffer, _ := buffers.Get().(*[32 << 10]byte)
	defer buffers.Put(buffer)
	return io.CopyBuffer(writerOnly{to}, struct{ io.Reader }{from}, buffer[:])
}

// pipe returns the content of a file as a pipe, because the interpreter reads only from *os.File. For any other reader it creates
// a pipe that it never closes.
func (h *Host) pipe(ctx context.Context, f io.ReadCloser) (*os.File, error) {
	out, in, err := os.Pipe()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	fill := func() {
		defer stop()
		_, _ = copyAll(in, f) // returns when the reader closes its end
		_ = in.Close()
		_ = f.Close()
	}
	if !h.spawn(fill) {
		stop()
		return nil, errors.Join(net.ErrClosed, in.Close(), out.Close(), f.Close())
	}
	return out, nil
}

// target is the destination of output. Background jobs may share it.
type target struct {
	mu      sync.Mutex
	w       io.Writer
	close   func() error
	holders int // the last holder to release the target closes the file
}

func (t *target) Read([]byte) (int, error) { return 0, fs.ErrInvalid }

func (t *target) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(p)
}

func (t *target) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders--
	if t.close == nil || t.holders > 0 {
		return nil
	}
	return t.close()
}

func (t *target) hold() func() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holders++
	return func() { _ = t.Close() }
}

// hold keeps an output open for a process that outlives the process that opened the output.
func hold(w io.Writer) (release func()) {
	if t, ok := w.(*target); ok {
		return t.hold()
	}
	return func() {}
}

// taken limits the bytes of each stream in a Record.
const taken = 64 << 10

// sample is the first part of the data of a stream.
type sample struct {
	mu   sync.Mutex
	kept []byte
}

func (s *sample) take(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(s.kept, p[:min(len(p), taken-len(s.kept))]...)
}

func (s *sample) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.kept)
}

// tap records the output of a program.
type tap struct {
	ctx context.Context // of the program; after its end, writes fail
	to  io.Writer
	*sample
}

func (t *tap) Write(p []byte) (int, error) {
	if t.ctx.Err() != nil {
		return 0, os.ErrClosed
	}
	n, err := t.to.Write(p)
	t.take(p[:n])
	return n, err
}

// tapped records the input of a program.
type tapped struct {
	ctx  context.Context
	from io.Reader
	*sample
}

func (t *tapped) Read(p []byte) (int, error) {
	if t.ctx.Err() != nil {
		return 0, os.ErrClosed
	}
	n, err := t.from.Read(p)
	t.take(p[:n])
	return n, err
}

// untapped returns the destination below all taps of an output, for a process that outlives the processes that record it.
func untapped(w io.Writer) io.Writer {
	for {
		tap, ok := w.(*tap)
		if !ok {
			return w
		}
		w = tap.to
	}
}

// plain returns the input below all records, which is an *os.File for the interpreter. So the input that a shell reads itself
// is not recorded.
func plain(r io.Reader) io.Reader {
	for {
		tapped, ok := r.(*tapped)
		if !ok {
			return r
		}
		r = tapped.from
	}
}
