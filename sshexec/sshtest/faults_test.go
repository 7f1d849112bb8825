package sshtest_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// shortly is how long an operation must not return to count as stalled.
const shortly = 50 * time.Millisecond

// stalls runs fn and checks that it does not return while the host has the faults f, and that it returns without an error
// once the host is healthy.
func stalls(t *testing.T, h *sshtest.Host, f sshtest.Faults, fn func() error) {
	t.Helper()
	h.SetFaults(f)
	done := make(chan error, 1)
	go func() { done <- fn() }()
	select {
	case err := <-done:
		t.Fatalf("the operation did not stall: %v", err)
	case <-time.After(shortly):
	}
	h.SetFaults(sshtest.Faults{})
	if err := <-done; err != nil {
		t.Errorf("after the fault was removed: %v", err)
	}
}

func TestStalls(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	open, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	logIn := func() error { _, err := login(t, h, "ubuntu", "ubuntu"); return err }
	runTrue := func() error {
		session, err := open.NewSession()
		if err != nil {
			return err
		}
		return session.Run("true")
	}
	for _, tt := range []struct {
		name   string
		faults sshtest.Faults
		fn     func() error
	}{
		{"handshake", sshtest.Faults{StallHandshake: true}, logIn},
		{"login", sshtest.Faults{StallLogin: true}, logIn},
		{"session", sshtest.Faults{StallSessions: true}, runTrue},
		{"command", sshtest.Faults{StallCommands: true}, runTrue},
		{"open connection", sshtest.Faults{StallAfter: 1}, runTrue},
		{"new connection", sshtest.Faults{StallAfter: 100}, logIn},
	} {
		t.Run(tt.name, func(t *testing.T) { stalls(t, h, tt.faults, tt.fn) })
	}
}

// TestStallsEnd checks that a stalled connection ends with the host, and with the client. TestMain fails if goroutines are left.
func TestStallsEnd(t *testing.T) {
	for name, faults := range map[string]sshtest.Faults{
		"handshake": {StallHandshake: true}, "login": {StallLogin: true}, "session": {StallSessions: true},
		"command": {StallCommands: true}, "bytes": {StallAfter: 1500},
	} {
		for _, by := range []string{"host", "client"} {
			t.Run(name+" by "+by, func(t *testing.T) {
				h := sshtest.Start(t, sshtest.Config{})
				h.SetFaults(faults)
				conn := connect(t, h)
				done := make(chan error, 1)
				go func() { done <- speak(conn) }()
				select {
				case err := <-done:
					t.Fatalf("the operation did not stall: %v", err)
				case <-time.After(shortly):
				}
				if by == "client" {
					_ = conn.Close()
				} else if err := h.Close(); err != nil {
					t.Error(err)
				}
				if err := <-done; err == nil {
					t.Error("the stalled operation continued without an error")
				}
			})
		}
	}
}

func connect(t *testing.T, h *sshtest.Host) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.Addr())
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// speak logs in over conn and runs the program true.
func speak(conn net.Conn) error {
	defer func() { _ = conn.Close() }()
	over, channels, requests, err := ssh.NewClientConn(conn, "", &ssh.ClientConfig{
		User: "ubuntu", Auth: []ssh.AuthMethod{ssh.Password("ubuntu")}, HostKeyCallback: ssh.InsecureIgnoreHostKey(), //nolint:gosec // not what is tested
	})
	if err != nil {
		return err
	}
	client := ssh.NewClient(over, channels, requests)
	defer func() { _ = client.Close() }()
	session, err := client.NewSession()
	if err != nil {
		return err
	}
	return session.Run("true")
}

func TestRefuse(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	for _, refuse := range []func(bool){
		h.Refuse, func(refuse bool) { h.SetFaults(sshtest.Faults{Refuse: refuse}) },
		func(refuse bool) { h.SetFaults(sshtest.Faults{RefuseLogin: refuse}) },
	} {
		refuse(true)
		if _, err := login(t, h, "ubuntu", "ubuntu"); err == nil {
			t.Error("a host with RefuseLogin accepted a login")
		}
		refuse(false)
		if _, err := login(t, h, "ubuntu", "ubuntu"); err != nil {
			t.Error(err)
		}
	}
}

func TestMaxStartups(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	h.SetFaults(sshtest.Faults{MaxStartups: 2, StallLogin: true})
	done := make(chan error, 2)
	for range 2 {
		conn := connect(t, h)
		go func() { done <- speak(conn) }()
	}
	conn := connect(t, h)
	said, err := io.ReadAll(conn)
	_ = conn.Close()
	if string(said) != "Exceeded MaxStartups\r\n" || err != nil {
		t.Errorf("the third connection got %q, %v", said, err)
	}
	h.SetFaults(sshtest.Faults{MaxStartups: 2})
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	for range 4 { // connections that have logged in do not count
		if _, err := login(t, h, "ubuntu", "ubuntu"); err != nil {
			t.Error(err)
		}
	}
}

func TestSessions(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	h.SetFaults(sshtest.Faults{MaxSessions: 2})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	refused := func() bool {
		session, err := client.NewSession()
		if err == nil {
			t.Cleanup(func() { _ = session.Close() })
			return false
		}
		var open *ssh.OpenChannelError
		if !errors.As(err, &open) || open.Reason != ssh.ConnectionFailed || open.Message != "open failed" {
			t.Errorf("got %v", err)
		}
		return true
	}
	if got := []bool{refused(), refused(), refused()}; !cmp.Equal(got, []bool{false, false, true}) {
		t.Errorf("refused: %v", got)
	}
	h.SetFaults(sshtest.Faults{RefuseSessions: true})
	if !refused() {
		t.Error("a session was opened")
	}
	h.SetFaults(sshtest.Faults{})
	if refused() {
		t.Error("a healthy host refuses a session")
	}
}

func TestNoSFTP(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	h.SetFaults(sshtest.Faults{NoSFTP: true})
	if _, err := sftp.NewClient(client); err == nil {
		t.Error("the host has SFTP")
	}
	if out, _ := run(t, h, "[ -x /usr/lib/openssh/sftp-server ] || echo none; sudo /usr/lib/openssh/sftp-server", ""); !strings.HasPrefix(out, "none\n") || !strings.Contains(out, "not found") {
		t.Errorf("got %q", out)
	}
}

// TestCutAfter sends more than a connection allows: each new connection resumes and transfers more.
func TestCutAfter(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	send := func() error {
		client, err := login(t, h, "ubuntu", "ubuntu")
		if err != nil {
			return err
		}
		session, err := client.NewSession()
		if err != nil {
			return err
		}
		session.Stdin = strings.NewReader(strings.Repeat("x", 100_000))
		return session.Run("cat >>/tmp/f")
	}
	for _, tt := range []struct {
		name   string
		faults sshtest.Faults
		cut    []bool
	}{
		{"every connection", sshtest.Faults{CutAfter: 50_000}, []bool{true, true, true}},
		{"one connection", sshtest.Faults{CutAfter: 50_000, Cuts: 1}, []bool{true, false, false}},
		{"late", sshtest.Faults{CutAfter: 200_000}, []bool{false, false, false}},
	} {
		h.SetFaults(tt.faults)
		var got []bool
		for range tt.cut {
			got = append(got, send() != nil)
		}
		if !cmp.Equal(got, tt.cut) {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
	h.SetFaults(sshtest.Faults{})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	for range 3 { // bytes that earlier connections sent do not count
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		session.Stdin = strings.NewReader(strings.Repeat("x", 30_000))
		if err := session.Run("cat >/dev/null"); err != nil {
			t.Error(err)
		}
		h.SetFaults(sshtest.Faults{CutAfter: 50_000})
	}
	info, err := h.FS().Stat("/tmp/f")
	if err != nil || info.Size() < 5*100_000 || info.Size() >= 5*100_000+4*50_000 {
		t.Errorf("size of the uploaded file: %v, %v", info.Size(), err)
	}
}

func TestSlowLink(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	h.SetFaults(sshtest.Faults{BytesPerSecond: 200_000})
	for name, line := range map[string]string{"up": "cat >/dev/null", "down": "head -c 20000 /dev/zero"} {
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if name == "up" {
			session.Stdin = bytes.NewReader(make([]byte, 20_000))
		}
		start := time.Now()
		if err := session.Run(line); err != nil {
			t.Error(err)
		}
		if took := time.Since(start); took < 100*time.Millisecond || took > time.Minute {
			t.Errorf("%s: 20 kB took %v", name, took)
		}
	}
}

func TestFullDisk(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "directory": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			h := sshtest.Start(t, sshtest.Config{Dir: dir})
			h.SetFaults(sshtest.Faults{DiskFull: true, DiskLeft: 100})
			out, code := run(t, h, "head -c 60 /dev/zero >/tmp/a; cat >/tmp/b; wc -c </tmp/b", strings.Repeat("x", 60))
			if out != "40\ncat: /tmp/b: No space left on device\n" || code != 0 {
				t.Errorf("%d %q", code, out)
			}
			client, err := login(t, h, "ubuntu", "ubuntu")
			if err != nil {
				t.Fatal(err)
			}
			transfer, err := sftp.NewClient(client)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = transfer.Close() }()
			write := func() error {
				f, err := transfer.Create("/tmp/c")
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.Write([]byte("x"))
				return errors.Join(err, f.Close())
			}
			if write() == nil {
				t.Error("SFTP wrote on a full disk")
			}
			h.SetFaults(sshtest.Faults{})
			if err := write(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	h := sshtest.Start(t, sshtest.Config{})
	run(t, h, "mkdir /tmp/d; echo x >/tmp/d/f; echo y >/tmp/f", "")
	h.SetFaults(sshtest.Faults{ReadOnly: []string{"/tmp/d/"}})
	for _, line := range []string{
		"echo z >/tmp/d/f", "touch /tmp/d/f", "touch /tmp/d/new", "rm /tmp/d/f", "mv /tmp/f /tmp/d/g", "mv /tmp/d/f /tmp/g", "chmod 600 /tmp/d/f",
		"chown root /tmp/d/f", "mkdir /tmp/d/e", "ln -s x /tmp/d/l",
	} {
		out, code := run(t, h, "sudo sh -c '"+line+"'", "")
		if code == 0 || !strings.Contains(out, "Read-only file system") {
			t.Errorf("%s: %d %q", line, code, out)
		}
	}
	if out, code := run(t, h, "cat /tmp/d/f /tmp/f; echo >/tmp/dd", ""); out != "x\ny\n" || code != 0 {
		t.Errorf("%d %q", code, out)
	}
	if err := h.FS().Remove("/tmp/d/f"); err != nil {
		t.Errorf("writing with Host.FS: %v", err)
	}
}

func TestClock(t *testing.T) {
	now := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, dir := range map[string]string{"memory": "", "directory": t.TempDir()} {
		h := sshtest.Start(t, sshtest.Config{Dir: dir, Clock: func() time.Time { return now }})
		out, _ := run(t, h, "date -u +%FT%T; echo x >/tmp/f; : >/tmp/e; touch /tmp/t; stat -c %Y /tmp/f /tmp/e /tmp/t", "")
		unix := fmt.Sprintln(now.Unix())
		if out != "2030-01-02T03:04:05\n"+unix+unix+unix {
			t.Errorf("%s: %q", name, out)
		}
	}
}

func TestCutBeforeACommandStarts(t *testing.T) {
	var ran atomic.Bool
	h := sshtest.Start(t, sshtest.Config{Commands: map[string]sshtest.Command{
		"tool": func(context.Context, *sshtest.Process) int { ran.Store(true); return 0 },
	}})
	h.OnCommand(func(r sshtest.Record) {
		if r.Argv[0] == "tool" {
			h.CutConnections()
		}
	})
	client, err := login(t, h, "ubuntu", "ubuntu")
	if err != nil {
		t.Fatal(err)
	}
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	var exit *ssh.ExitError
	if err := session.Run("tool; tool"); err == nil || errors.As(err, &exit) {
		t.Errorf("got %v", err)
	}
	if err := h.Close(); err != nil { // waits for running programs
		t.Error(err)
	}
	if ran.Load() {
		t.Error("the program ran although the connection was cut before its start")
	}
}
