package sshexec_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/nettest"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// tunnelTo connects through a host to a listener whose connections serve handles.
func tunnelTo(t *testing.T, serve func(net.Conn)) (net.Conn, *sshtest.Host) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		serve(conn)
		_ = conn.Close()
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	host, remote := connect(t, sshtest.Config{Dial: new(net.Dialer).DialContext})
	conn, err := host.DialContext(withinMinutes(t), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn, remote
}

func TestDialContext(t *testing.T) {
	var asked string
	host, _ := connect(t, sshtest.Config{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		asked = addr
		return nil, errors.New("no such place")
	}})
	_, err := host.DialContext(withinMinutes(t), "tcp", "nowhere:1")
	if !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "node1") || asked != "nowhere:1" {
		t.Errorf("asked for %s, got %v", asked, err)
	}
}

// TestTunnelHalfClose checks that each side can close its writing direction and still read.
func TestTunnelHalfClose(t *testing.T) {
	conn, _ := tunnelTo(t, func(far net.Conn) {
		got, _ := io.ReadAll(far)
		_, _ = fmt.Fprintf(far, "%d bytes", len(got))
	})
	if _, err := conn.Write(make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	if err := conn.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "1048576 bytes" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := conn.Write([]byte("x")); err == nil {
		t.Error("written after CloseWrite")
	}
}

func TestTunnelDeadline(t *testing.T) {
	conn, _ := tunnelTo(t, func(far net.Conn) {
		line, _ := bufio.NewReader(far).ReadString('\n')
		_, _ = io.WriteString(far, line)
	})
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, "still here\n"); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "still here\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestTunnelCut checks that the end of the SSH connection is not reported as the end of the data, whichever side notices it first.
func TestTunnelCut(t *testing.T) {
	for round := range 50 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			held := make(chan struct{})
			conn, remote := tunnelTo(t, func(far net.Conn) {
				_, _ = io.WriteString(far, "half")
				<-held
			})
			defer close(held)
			if _, err := io.ReadFull(conn, make([]byte, 4)); err != nil {
				t.Fatal(err)
			}
			remote.CutConnections()
			if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, sshexec.ErrDisconnected) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestHTTPThroughTheHost uses DialContext with an HTTP client.
func TestHTTPThroughTheHost(t *testing.T) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	defer api.Close()
	host, _ := connect(t, sshtest.Config{Dial: new(net.Dialer).DialContext})
	client := http.Client{Transport: &http.Transport{DialContext: host.DialContext}}
	defer client.CloseIdleConnections()
	for range 3 {
		request, err := http.NewRequestWithContext(withinMinutes(t), http.MethodPost, api.URL, strings.NewReader("hello"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
	}
}

// TestTunnelIsAConn runs the conformance tests for net.Conn.
func TestTunnelIsAConn(t *testing.T) {
	nettest.TestConn(t, func() (near, far net.Conn, stop func(), err error) {
		accepted := make(chan net.Conn, 1)
		near, _ = tunnelTo(t, func(far net.Conn) {
			accepted <- far
			<-t.Context().Done()
		})
		far = <-accepted
		return near, far, func() { _ = near.Close(); _ = far.Close() }, nil
	})
}
