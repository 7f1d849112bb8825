package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestDialContext(t *testing.T) {
	var asked string
	far, near := net.Pipe()
	host, _ := connect(t, sshtest.Config{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
		asked = addr
		if strings.HasPrefix(addr, "no") {
			return nil, errors.New("no such place")
		}
		return far, nil
	}})
	go func() {
		_, _ = fmt.Fprint(near, "hello")
		_ = near.Close()
	}()
	c, err := host.DialContext(within(t, 5*time.Second), "tcp", "10.0.0.1:6443")
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(c)
	if err != nil || string(got) != "hello" || asked != "10.0.0.1:6443" {
		t.Errorf("got %q from %s, %v", got, asked, err)
	}
	_ = c.Close()
	if _, err := host.DialContext(within(t, 5*time.Second), "tcp", "nowhere:1"); !errors.Is(err, sshexec.ErrConnect) || !strings.Contains(err.Error(), "node1") {
		t.Errorf("got %v", err)
	}
}
