package sshexec

import (
	"bytes"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/ssh"
)

// wire is the network connection below SSH. When reading from it fails, it makes
// sure that nothing is written any more.
//
// x/crypto/ssh ends the channels that it knows when reading has failed, and only
// then refuses to write. A channel that is opened in between would wait for its
// answer for ever, since the first failed write is not reported either. So the
// failing write is made here, before anybody hears of the failed read.
type wire struct {
	net.Conn
	client atomic.Pointer[ssh.Client] // nil during the handshake
	ended  atomic.Bool

	mu    sync.Mutex
	first []byte // what the host has said first of all; nil once that was its version of SSH
	ssh   bool   // it has told its version
}

// greetingBytes bounds what is remembered of a host that does not tell its
// version of SSH.
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
	_ = w.Close() // for a writer that waits for room
	if client := w.client.Load(); client != nil {
		_, _, _ = client.SendRequest("", false, nil) // fails
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

// turnedAway returns the error for a host that has ended the connection before
// it told its version of SSH; nil when it has told it.
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
