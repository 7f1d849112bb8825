package sshtest

import (
	"context"
	"net"
	"os"
	"sync"
	"time"
)

// wire is the network connection of a client, with the faults of the host.
type wire struct {
	net.Conn
	faults *faults
	ctx    context.Context // of the connection
	lost   func()          // called when the other side has disconnected

	mu    sync.Mutex
	since int   // the change of faults since which bytes are counted
	count int64 // bytes received since this change
	ahead []byte
	err   error // returned after the buffered data
}

// stallBytes limits the data that is read ahead from a stalled connection to notice its end. It is more than the window that a
// client of x/crypto/ssh fills.
const stallBytes = 4 << 20

// stalled waits while stalls returns true. Meanwhile it reads ahead, to notice the end of the connection. It returns false if
// the connection has ended.
func (w *wire) stalled(stalls func(Faults) bool) bool {
	if !stalls(w.faults.current()) {
		return true
	}
	done := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(done)
		w.readAhead(stop)
	}()
	ok := w.faults.await(w.ctx, stalls)
	close(stop)
	_ = w.SetReadDeadline(time.Unix(1, 0)) // wakes the reader
	<-done
	_ = w.SetReadDeadline(time.Time{})
	return ok
}

func (w *wire) readAhead(stop <-chan struct{}) {
	buf := make([]byte, 32<<10)
	for w.err == nil && len(w.ahead) < stallBytes {
		n, err := w.Conn.Read(buf)
		w.ahead = append(w.ahead, buf[:n]...)
		if err == nil {
			continue
		}
		select {
		case <-stop:
			return
		default:
		}
		if !os.IsTimeout(err) {
			w.err = err
			w.lost()
		}
	}
}

// Read is called by one goroutine at a time.
func (w *wire) Read(p []byte) (int, error) {
	f, room := w.room()
	if room == 0 {
		if !w.exhausted(f) {
			return 0, net.ErrClosed
		}
		f, room = w.room()
	}
	if room > 0 && int64(len(p)) > room {
		p = p[:room]
	}
	if chunk := slice(f); len(p) > chunk {
		p = p[:chunk]
	}
	n, err := w.next(p)
	w.received(n)
	if err != nil {
		w.lost()
		return n, err
	}
	return n, w.pace(f, n)
}

func (w *wire) next(p []byte) (int, error) {
	if len(w.ahead) > 0 {
		n := copy(p, w.ahead)
		w.ahead = w.ahead[n:]
		return n, nil
	}
	if w.err != nil {
		return 0, w.err
	}
	return w.Conn.Read(p)
}

// exhausted cuts or stalls a connection that has sent the number of bytes of CutAfter or StallAfter. It returns false if the
// connection has ended.
func (w *wire) exhausted(f Faults) bool {
	if f.CutAfter > 0 && (f.StallAfter == 0 || f.CutAfter <= f.StallAfter) {
		if w.faults.mayCut() {
			w.lost()
			return false
		}
	} else if !w.stalled(func(Faults) bool { return w.silent() }) {
		return false
	}
	return true
}

// room returns the number of bytes that the connection may still receive, -1 for no limit.
func (w *wire) room() (Faults, int64) {
	f, since, _ := w.faults.get()
	w.mu.Lock()
	defer w.mu.Unlock()
	if since != w.since {
		w.since, w.count = since, 0
	}
	limit := f.StallAfter
	if f.CutAfter > 0 && (limit == 0 || f.CutAfter < limit) {
		limit = f.CutAfter
	}
	if limit == 0 {
		return f, -1
	}
	return f, max(0, limit-w.count)
}

func (w *wire) received(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.count += int64(n)
}

// silent reports whether StallAfter stops the connection.
func (w *wire) silent() bool {
	f, since, _ := w.faults.get()
	w.mu.Lock()
	defer w.mu.Unlock()
	return f.StallAfter > 0 && since == w.since && w.count >= f.StallAfter
}

func (w *wire) Write(p []byte) (int, error) {
	written := 0
	for len(p) > 0 {
		if !w.faults.await(w.ctx, func(Faults) bool { return w.silent() }) {
			return written, net.ErrClosed
		}
		f := w.faults.current()
		n, err := w.Conn.Write(p[:min(len(p), slice(f))])
		written += n
		if err == nil {
			err = w.pace(f, n)
		}
		if err != nil {
			return written, err
		}
		p = p[n:]
	}
	return written, nil
}

// slice returns the number of bytes that a slow connection transfers in a fiftieth of a second, the size of its writes.
func slice(f Faults) int {
	if f.BytesPerSecond <= 0 {
		return int(^uint(0) >> 1)
	}
	return max(1, f.BytesPerSecond/50)
}

// pace waits as long as n bytes take on a slow connection.
func (w *wire) pace(f Faults, n int) error {
	if f.BytesPerSecond <= 0 || n == 0 {
		return nil
	}
	timer := time.NewTimer(time.Duration(n) * time.Second / time.Duration(f.BytesPerSecond))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-w.ctx.Done():
		return net.ErrClosed
	}
}
