package sshexec

import (
	"net"
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
	heard  atomic.Bool                // the host has said something
	ended  atomic.Bool
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(true)
	}
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
