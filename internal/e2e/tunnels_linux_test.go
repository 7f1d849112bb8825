package e2e_test

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/e2e/vmhost"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestTunnels: what only the host sees is reached through real sshd, with all that a network connection has.
func TestTunnels(t *testing.T) {
	host, machine := connect(t, vmhost.Spec{}, sshexec.Options{})
	dial := func(t *testing.T, addr string) net.Conn {
		t.Helper()
		conn, err := host.DialContext(within(t, time.Minute), "tcp", addr)
		must(t, err)
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	ended := make(chan struct{})
	digest := serve(t, machine, func(conn net.Conn) {
		content, _ := io.ReadAll(conn)
		_, _ = io.WriteString(conn, sha256Of(content))
	})
	mute := serve(t, machine, func(net.Conn) { <-ended })
	t.Cleanup(func() { close(ended) })
	rude := serve(t, machine, func(conn net.Conn) { _, _ = io.CopyN(conn, conn, 10) })
	page := bytes.Repeat([]byte("page "), 60_000)
	web := serveHTTP(t, machine, page)

	t.Run("half-close", func(t *testing.T) {
		for _, size := range []int{0, 1, 5 << 20} {
			content := make([]byte, size)
			_, _ = rand.Read(content)
			conn := dial(t, digest)
			_, err := conn.Write(content)
			must(t, err)
			must(t, conn.(interface{ CloseWrite() error }).CloseWrite())
			got, err := io.ReadAll(conn)
			must(t, err)
			if want := sha256Of(content); string(got) != want {
				t.Errorf("%d bytes: got %q, want %s", size, got, want)
			}
		}
	})
	t.Run("deadlines", func(t *testing.T) {
		conn := dial(t, mute)
		must(t, conn.SetReadDeadline(time.Now().Add(200*time.Millisecond)))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("read: %v", err)
		}
		must(t, conn.SetWriteDeadline(time.Now().Add(500*time.Millisecond)))
		if _, err := io.Copy(conn, &endless{}); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("write: %v", err)
		}
		output(t, host, "true") // the SSH connection still works
	})
	t.Run("the other side ends", func(t *testing.T) {
		conn := dial(t, rude)
		_, err := io.WriteString(conn, strings.Repeat("x", 10))
		must(t, err)
		got, err := io.ReadAll(conn)
		if err != nil || len(got) != 10 {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("nobody listens", func(t *testing.T) {
		_, err := host.DialContext(within(t, time.Minute), "tcp", "127.0.0.1:7999")
		if !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "7999") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("HTTP, many at once", func(t *testing.T) {
		transport := &http.Transport{DialContext: host.DialContext}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport}
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				if err := get(t, client, "http://"+web+"/", page); err != nil {
					t.Errorf("caller %d: %v", i, err)
				}
			})
		}
		callers.Wait()
	})
	t.Run("forbidden", func(t *testing.T) {
		host, _ := connect(t, vmhost.Spec{Config: []string{"AllowTcpForwarding no"}}, sshexec.Options{})
		_, err := host.DialContext(within(t, time.Minute), "tcp", "127.0.0.1:22")
		if !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "prohibited") {
			t.Errorf("got %v", err)
		}
		output(t, host, "true")
	})
}

func get(t *testing.T, client *http.Client, url string, want []byte) error {
	t.Helper()
	request, err := http.NewRequestWithContext(within(t, time.Minute), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := client.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	got, err := io.ReadAll(answer.Body)
	if err == nil && (answer.StatusCode != http.StatusOK || !bytes.Equal(got, want)) {
		err = fmt.Errorf("status %d, %d bytes", answer.StatusCode, len(got))
	}
	return err
}

// serve plays a service that only the host can reach, and returns its address.
func serve(t *testing.T, machine *vmhost.Host, service func(net.Conn)) string {
	t.Helper()
	listener, err := machine.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				service(conn)
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String()
}

func serveHTTP(t *testing.T, machine *vmhost.Host, page []byte) string {
	t.Helper()
	listener, err := machine.Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		_ = server.Close()
		<-served
	})
	return listener.Addr().String()
}
