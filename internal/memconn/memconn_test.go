package memconn_test

import (
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/vnfkit/vnfkit/internal/memconn"
)

func pair() (*memconn.Conn, *memconn.Conn) {
	return memconn.Pair(&net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 1}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 22})
}

func TestConn(t *testing.T) {
	t.Parallel()
	nettest.TestConn(t, func() (net.Conn, net.Conn, func(), error) {
		a, b := pair()
		return a, b, func() { _, _ = a.Close(), b.Close() }, nil
	})
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	a, b := pair()
	if a.RemoteAddr().String() != "10.0.0.2:22" || b.RemoteAddr() != a.LocalAddr() || b.LocalAddr() != a.RemoteAddr() {
		t.Errorf("%v %v, %v %v", a.LocalAddr(), a.RemoteAddr(), b.LocalAddr(), b.RemoteAddr())
	}
}

// TestHeld: data can be read after the writer has closed, and a half-closed connection still reads.
func TestHeld(t *testing.T) {
	t.Parallel()
	a, b := pair()
	if _, err := a.Write([]byte("question")); err != nil {
		t.Fatal(err)
	}
	if err := a.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Write([]byte("more")); !errors.Is(err, syscall.EPIPE) {
		t.Errorf("a write after CloseWrite: %v", err)
	}
	if got, err := io.ReadAll(b); err != nil || string(got) != "question" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Write([]byte("answer")); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(a); err != nil || string(got) != "answer" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
		t.Errorf("a read of what is closed: %v", err)
	}
}

// TestBound: a writer waits for the reader, until its deadline or the end of the reader.
func TestBound(t *testing.T) {
	t.Parallel()
	a, b := pair()
	if n, err := a.Write(make([]byte, 1<<20)); n != 1<<20 || err != nil {
		t.Fatalf("%d bytes, %v", n, err)
	}
	if err := a.SetWriteDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Write([]byte("more")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := a.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() {
		_, err := a.Write(make([]byte, 2<<20))
		ended <- err
	}()
	if _, err := io.ReadFull(b, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, syscall.EPIPE) {
		t.Errorf("the reader has closed: %v", err)
	}
}
