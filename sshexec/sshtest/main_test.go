package sshtest_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// login connects to a host with a plain SSH client.
func login(t *testing.T, h *sshtest.Host, user, password string) (*ssh.Client, error) {
	t.Helper()
	key, _, _, _, err := ssh.ParseAuthorizedKey([]byte(h.PublicKey()))
	if err != nil {
		t.Fatal(err)
	}
	client, err := ssh.Dial("tcp", h.Addr(), &ssh.ClientConfig{
		User: user, Auth: []ssh.AuthMethod{ssh.Password(password)}, HostKeyCallback: ssh.FixedHostKey(key), HostKeyAlgorithms: []string{key.Type()}, Timeout: time.Minute,
	})
	if err == nil {
		t.Cleanup(func() { _ = client.Close() })
	}
	return client, err
}

// run runs a command line. It returns the standard output followed by the standard error, and the exit code.
func run(t *testing.T, h *sshtest.Host, line, stdin string) (string, int) {
	t.Helper()
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	var stdout, stderr bytes.Buffer
	session.Stdin, session.Stdout, session.Stderr = strings.NewReader(stdin), &stdout, &stderr
	err = session.Run(line)
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		return stdout.String() + stderr.String(), exit.ExitStatus()
	}
	if err != nil && !errors.Is(err, io.EOF) { // EOF: the command ended without reading its input
		t.Fatal(err)
	}
	return stdout.String() + stderr.String(), 0
}
