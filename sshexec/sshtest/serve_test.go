package sshtest_test

import (
	"errors"
	"io"
	"net"
	"syscall"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestServe checks that Serve accepts a connection of the caller, that CutConnections cuts it, and that a host that refuses
// connections closes it.
func TestServe(t *testing.T) {
	t.Parallel()
	h := sshtest.Start(t, sshtest.Config{})
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	connect := func() net.Conn {
		t.Helper()
		near, err := new(net.Dialer).DialContext(t.Context(), "tcp", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = near.Close() })
		far, err := listener.Accept()
		if err != nil {
			t.Fatal(err)
		}
		h.Serve(far)
		return near
	}
	conn, channels, requests, err := ssh.NewClientConn(connect(), "host", &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyCallback: ssh.InsecureIgnoreHostKey()}) //nolint:gosec // the test started this host
	if err != nil {
		t.Fatal(err)
	}
	client := ssh.NewClient(conn, channels, requests)
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := session.Output("hostname"); err != nil || string(out) != "host\n" {
		t.Errorf("%q, %v", out, err)
	}
	h.CutConnections()
	if err := client.Wait(); err == nil {
		t.Error("the connection outlives CutConnections")
	}
	h.SetFaults(sshtest.Faults{Refuse: true})
	refused := func(when string) {
		t.Helper()
		if _, err := connect().Read(make([]byte, 1)); !errors.Is(err, io.EOF) && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%s: %v", when, err)
		}
	}
	refused("refusing")
	h.SetFaults(sshtest.Faults{})
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	refused("closed")
}
