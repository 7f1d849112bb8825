package sshexec_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec"
)

// TestInputComesAfterTheCommand checks that input is sent only after the command has begun. OpenSSH drops an end of input that arrives
// earlier, and the command would wait forever.
func TestInputComesAfterTheCommand(t *testing.T) {
	for name, stdin := range map[string]io.Reader{"no input": nil, "input": strings.NewReader("input")} {
		t.Run(name, func(t *testing.T) {
			early := make(chan bool, 1)
			addr := serve(t, func(asked ssh.NewChannel) {
				channel, requests, err := asked.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				ended := make(chan struct{})
				go func() {
					_, _ = channel.Read(make([]byte, 1))
					close(ended)
				}()
				exec := <-requests
				select {
				case <-ended:
					early <- true
				case <-time.After(100 * time.Millisecond):
					early <- false
				}
				_ = exec.Reply(true, nil)
				begin(channel, exec)
				<-ended
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{0}))
				_ = channel.Close()
			})
			host := newPool(t, sshexec.Options{}).Host(anyKey(addr))
			if err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"cat"}, Stdin: stdin}); err != nil {
				t.Error(err)
			}
			if <-early {
				t.Error("input or its end arrived before the command was accepted")
			}
		})
	}
}

// TestBusyHost simulates OpenSSH, which refuses a session if it has not yet noticed the end of another session.
func TestBusyHost(t *testing.T) {
	for _, tt := range []struct {
		name    string
		refuses int
		reason  ssh.RejectionReason
		want    error
	}{
		{"for a moment", 3, ssh.ConnectionFailed, nil},
		{"for ever", 1000, ssh.ConnectionFailed, sshexec.ErrConnect},
		{"on principle", 1, ssh.Prohibited, sshexec.ErrConnect},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			asked := 0
			addr := serve(t, func(c ssh.NewChannel) {
				if asked++; asked <= tt.refuses {
					_ = c.Reject(tt.reason, "open failed")
					return
				}
				channel, requests, err := c.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				exec := <-requests
				_ = exec.Reply(true, nil)
				begin(channel, exec)
				_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{0}))
				_ = channel.Close()
			})
			host := newPool(t, sshexec.Options{}).Host(anyKey(addr))
			if err := host.Exec(withinMinutes(t), sshexec.Command{Argv: []string{"true"}}); !errors.Is(err, tt.want) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
}

// begin writes the line that frame writes when the command begins.
func begin(channel ssh.Channel, exec *ssh.Request) {
	_, _ = fmt.Fprintf(channel.Stderr(), "%s 1\n", regexp.MustCompile(`sshexec-[A-Z0-9]+`).Find(exec.Payload))
}

func anyKey(addr string) sshexec.Target {
	return sshexec.Target{Addr: addr, User: "u", Auth: []sshexec.Auth{sshexec.Password("p")}, HostKeys: sshexec.InsecureIgnoreHostKeys()}
}

// serve accepts connections, one after the other, and passes the channels that they request to asked.
func serve(t *testing.T, asked func(ssh.NewChannel)) (addr string) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return &ssh.Permissions{}, nil }}
	config.AddHostKey(signer)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() {
		_ = listener.Close()
		<-done
	})
	go func() {
		defer close(done)
		for {
			raw, err := listener.Accept()
			if err != nil {
				return
			}
			_, channels, requests, err := ssh.NewServerConn(raw, config)
			if err != nil {
				t.Error(err)
				return
			}
			go ssh.DiscardRequests(requests)
			for c := range channels {
				asked(c)
			}
			_ = raw.Close()
		}
	}()
	return listener.Addr().String()
}
