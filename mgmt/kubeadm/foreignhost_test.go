package kubeadm_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/memconn"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// TestForeignHost: a program that forgets Dial: world.Dial connects to real machines that have the addresses of the
// sandbox. The driver sends them no password.
func TestForeignHost(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	var mu sync.Mutex
	asked := false
	config := &ssh.ServerConfig{PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) {
		mu.Lock()
		defer mu.Unlock()
		asked = true
		return nil, errors.New("refused")
	}}
	key, err := ssh.ParsePrivateKey(sshtest.NewKey(t, ssh.KeyAlgoED25519).PEM)
	if err != nil {
		t.Fatal(err)
	}
	config.AddHostKey(key)
	var servers sync.WaitGroup
	defer servers.Wait()
	m := l.ProcessOver(func(context.Context, string, string) (net.Conn, error) {
		near, far := memconn.Pair(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 22})
		servers.Go(func() {
			_, _, _, _ = ssh.NewServerConn(far, config)
			_ = far.Close()
		})
		return near, nil
	})
	id := l.Created()
	opID, err := m.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 1)))
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Wait(t.Context(), opID)
	if !errors.Is(err, sshexec.ErrHostKey) || !strings.Contains(err.Error(), "Dial: world.Dial") {
		t.Errorf("%v", err)
	}
	if asked {
		t.Error("a password was sent")
	}
}
