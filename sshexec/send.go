package sshexec

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"sync"
	"time"
)

// chunkSize is the size of the parts of a large file that the host digests while further parts are being sent. It is a multiple of
// unit.
const chunkSize = 16 << 20

// unit is the unit of offsets and lengths in scripts.
const unit = 1 << 20

// inFlight limits the outstanding requests, inFlightBytes the bytes of their data.
const (
	inFlight      = 64
	inFlightBytes = 4 << 20
)

// chunk is a part of a file.
type chunk struct {
	offset, size int64
	digest       string // of the bytes sent, in hex
	waiting      int    // writes without an answer
	complete     bool   // all bytes of the chunk have been sent
}

// outgoing sends content to the temporary file.
type outgoing struct {
	content io.Reader
	whole   hash.Hash // of the whole content, nil if not needed
	meter   *meter
	arrived func(chunk)   // called when the host has a whole chunk; calls do not overlap
	reading chan struct{} // contains an element while content is being read

	mu     sync.Mutex
	offset int64 // of the next byte to read
	part   *chunk
	hash   hash.Hash
}

func newOutgoing(content io.Reader, offset int64, whole hash.Hash, m *meter, arrived func(chunk)) *outgoing {
	return &outgoing{content: content, offset: offset, whole: whole, meter: m, arrived: arrived, reading: make(chan struct{}, 1)}
}

// piece is a buffer with a part of a chunk.
type piece struct {
	data   []byte
	offset int64
	part   *chunk
}

// next fills a piece. The error is io.EOF after the end of the content, and a *readError if reading the content failed.
func (o *outgoing) next(buffer []byte) (piece, error) {
	o.mu.Lock()
	if o.part == nil {
		o.part, o.hash = &chunk{offset: o.offset}, sha256.New()
	}
	part := o.part
	room := chunkSize - part.size
	o.mu.Unlock()

	n, err := io.ReadFull(o.content, buffer[:min(int64(len(buffer)), room)])
	data := buffer[:n]
	_, _ = o.hash.Write(data)
	if o.whole != nil {
		_, _ = o.whole.Write(data)
	}
	ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if err != nil && !ended {
		return piece{}, &readError{err}
	}
	o.mu.Lock()
	p := piece{data: data, offset: o.offset, part: part}
	o.offset += int64(n)
	part.size += int64(n)
	if n > 0 {
		part.waiting++
	}
	if ended || part.size == chunkSize {
		part.digest, part.complete = sum(o.hash), true
		o.part = nil
	}
	o.mu.Unlock()
	if n == 0 {
		o.answered(part, 0)
		return piece{}, io.EOF
	}
	return p, nil
}

// answered records that the host has received n more bytes of a chunk.
func (o *outgoing) answered(part *chunk, n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n > 0 {
		part.waiting--
	}
	if part.complete && part.waiting == 0 && part.size > 0 {
		o.arrived(*part)
	}
}

// readError is the error of reading the content.
type readError struct{ error }

func (e *readError) Unwrap() error { return e.error }

// send writes the content to the file by SFTP, from the offset of o on. It truncates the file at this offset first.
func (o *outgoing) send(ctx context.Context, s *sftpSession, name string) error {
	flags := os.O_WRONLY
	if o.offset == 0 {
		flags |= os.O_CREATE | os.O_EXCL
	}
	file, err := s.OpenFile(name, flags)
	if err != nil {
		return err
	}
	// SFTP creates files with the umask of the login, so restrict the mode before the file has content.
	if err := file.Chmod(0o600); err != nil {
		return errors.Join(err, file.Close())
	}
	if o.offset > 0 {
		if err := file.Truncate(o.offset); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	if err := o.pump(ctx, s.packet, file); err != nil {
		_ = file.Close()
		return err
	}
	return file.Close()
}

// pump reads pieces and writes several of them concurrently.
func (o *outgoing) pump(ctx context.Context, packet int, to io.WriterAt) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	writers := min(inFlight, inFlightBytes/packet)
	free := make(chan []byte, writers+1)
	for range writers + 1 {
		free <- make([]byte, packet)
	}
	work := make(chan piece)
	// The pool does not track this goroutine, so that Close does not wait for a blocked Read.
	o.reading <- struct{}{}
	go func() {
		defer func() { <-o.reading }()
		defer close(work)
		if err := o.read(ctx, free, work); err != nil {
			cancel(err)
		}
	}()
	var writing sync.WaitGroup
	for range writers {
		writing.Go(func() { o.write(ctx, cancel, work, free, to) })
	}
	writing.Wait()
	return context.Cause(ctx)
}

// write writes pieces from work until work is closed.
func (o *outgoing) write(ctx context.Context, failed context.CancelCauseFunc, work <-chan piece, free chan<- []byte, to io.WriterAt) {
	for {
		select {
		case p, more := <-work:
			if !more {
				return
			}
			if _, err := to.WriteAt(p.data, p.offset); err != nil {
				failed(err)
				return
			}
			o.answered(p.part, len(p.data))
			o.meter.add(int64(len(p.data)))
			free <- p.data[:cap(p.data)]
		case <-ctx.Done():
			return
		}
	}
}

// idle waits until the content is no longer being read, so that it can be read again.
func (o *outgoing) idle(ctx context.Context) bool {
	select {
	case o.reading <- struct{}{}:
		return true
	case <-ctx.Done():
	}
	timer := time.NewTimer(feedGrace)
	defer timer.Stop()
	select {
	case o.reading <- struct{}{}:
		return true
	case <-timer.C:
		return false
	}
}

func (o *outgoing) read(ctx context.Context, free <-chan []byte, work chan<- piece) error {
	for {
		var buffer []byte
		select {
		case buffer = <-free:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		p, err := o.next(buffer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read content: %w", err)
		}
		select {
		case work <- p:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
