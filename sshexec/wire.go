package sshexec

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

// wire is the network connection below SSH. When a read fails, it ensures that later writes fail.
//
// After a failed read, x/crypto/ssh ends its known channels and only then refuses to write. A channel that is opened in between would
// wait for its answer forever, because x/crypto/ssh does not report the first failed write either. So wire makes writes fail before it
// reports the failed read.
type wire struct {
	net.Conn
	client atomic.Pointer[ssh.Client] // nil during the handshake
	ended  atomic.Bool

	mu    sync.Mutex
	first []byte // the first bytes from the host; nil after its SSH version has been read
	ssh   bool   // the host has sent its SSH version
}

// greetingBytes limits the stored bytes of a host that does not send its SSH version.
const greetingBytes = 256

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	w.greeting(p[:n])
	if err != nil {
		w.end()
	}
	return n, err
}

func (w *wire) Write(p []byte) (int, error) {
	if w.ended.Load() {
		return 0, net.ErrClosed
	}
	return w.Conn.Write(p)
}

func (w *wire) end() {
	if w.ended.Swap(true) {
		return
	}
	_ = w.Close() // ends a blocked Write
	if client := w.client.Load(); client != nil {
		_, _, _ = client.SendRequest("", false, nil) // fails, and is the failed write that is not reported
	}
}

func (w *wire) greeting(said []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ssh {
		return
	}
	w.first = append(w.first, said[:min(len(said), greetingBytes-len(w.first))]...)
	if w.ssh = bytes.Contains(w.first, []byte("SSH-")); w.ssh {
		w.first = nil
	}
}

// turnedAway returns the error for a host that ended the connection before it sent its SSH version, and nil for any other host.
func (w *wire) turnedAway() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.ssh:
		return nil
	case len(w.first) == 0:
		return errTurnedAway
	}
	return fmt.Errorf("%w: %q", errTurnedAway, w.first)
}
