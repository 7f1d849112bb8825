package sshexec_test

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec"
)

// shellHost is an SSH server that runs commands with the real /bin/sh of this machine, each in a new session as sshd
// does, with a temporary home directory, and never as root.
type shellHost struct {
	home     string
	path     string // directories before PATH, each followed by a colon
	listener net.Listener
	config   *ssh.ServerConfig
	running  sync.WaitGroup

	mu       sync.Mutex
	conns    map[net.Conn]bool
	sessions map[*os.Process]bool
	lines    []string       // command lines that ran
	refuse   func(int) bool // reports whether to cut the connection before the n-th command runs
}

func newShellHost() (*shellHost, error) {
	home, err := os.MkdirTemp("", "sshexec-job-")
	if err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if err := os.Chown(home, nobody, nobody); err != nil {
			return nil, err
		}
	}
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, err
	}
	h := &shellHost{home: home, conns: map[net.Conn]bool{}, sessions: map[*os.Process]bool{}}
	h.config = &ssh.ServerConfig{PasswordCallback: func(ssh.ConnMetadata, []byte) (*ssh.Permissions, error) { return &ssh.Permissions{}, nil }}
	h.config.AddHostKey(signer)
	h.listener, err = net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // close ends it
	if err != nil {
		return nil, err
	}
	h.running.Go(h.accept)
	return h, nil
}

const nobody = 65534

func (h *shellHost) close() error {
	err := h.listener.Close()
	h.cut()
	h.killSessions()
	h.running.Wait()
	return errors.Join(err, os.RemoveAll(h.home))
}

// cut closes the connections. Running commands may continue.
func (h *shellHost) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for c := range h.conns {
		_ = c.Close()
	}
}

// connected reports whether the host has connections.
func (h *shellHost) connected() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.conns) > 0
}

// killSessions kills the process group of every session.
func (h *shellHost) killSessions() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for p := range h.sessions {
		_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	}
}

func (h *shellHost) accept() {
	for {
		raw, err := h.listener.Accept()
		if err != nil {
			return
		}
		h.mu.Lock()
		h.conns[raw] = true
		h.mu.Unlock()
		h.running.Go(func() {
			defer func() {
				_ = raw.Close()
				h.mu.Lock()
				defer h.mu.Unlock()
				delete(h.conns, raw)
			}()
			_, channels, requests, err := ssh.NewServerConn(raw, h.config)
			if err != nil {
				return
			}
			h.running.Go(func() { ssh.DiscardRequests(requests) })
			for c := range channels {
				channel, requests, err := c.Accept()
				if err != nil {
					return
				}
				h.running.Go(func() { h.session(raw, channel, requests) })
			}
		})
	}
}

func (h *shellHost) session(raw net.Conn, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	var command *exec.Cmd
	for r := range requests {
		switch {
		case r.Type == "exec" && command == nil:
			var asked struct{ Line string }
			_ = ssh.Unmarshal(r.Payload, &asked)
			if h.cutBefore(asked.Line) {
				_ = raw.Close()
				return
			}
			command = h.command(asked.Line, channel)
			err := command.Start()
			_ = r.Reply(err == nil, nil)
			if err != nil {
				return
			}
			h.running.Go(func() { h.wait(command, channel) })
		case r.Type == "signal" && command != nil:
			var asked struct{ Name string }
			_ = ssh.Unmarshal(r.Payload, &asked)
			signals := map[string]syscall.Signal{"TERM": syscall.SIGTERM, "KILL": syscall.SIGKILL}
			_ = syscall.Kill(-command.Process.Pid, signals[asked.Name])
		default:
			_ = r.Reply(false, nil)
		}
	}
}

func (h *shellHost) cutBefore(line string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, line)
	return h.refuse != nil && h.refuse(len(h.lines))
}

func (h *shellHost) command(line string, channel ssh.Channel) *exec.Cmd {
	c := exec.Command("/bin/sh", "-c", line) //nolint:noctx // sshd does not end commands either
	c.Dir = h.home
	c.Env = []string{"HOME=" + h.home, "PATH=" + h.path + "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "USER=nobody"}
	c.Stdout, c.Stderr = channel, channel.Stderr()
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if os.Getuid() == 0 {
		c.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	in, err := c.StdinPipe()
	if err != nil {
		return c
	}
	h.running.Go(func() {
		buffer := make([]byte, 32<<10)
		for {
			n, err := channel.Read(buffer)
			if n > 0 {
				_, _ = in.Write(buffer[:n])
			}
			if err != nil {
				_ = in.Close()
				return
			}
		}
	})
	return c
}

func (h *shellHost) wait(c *exec.Cmd, channel ssh.Channel) {
	h.mu.Lock()
	h.sessions[c.Process] = true
	h.mu.Unlock()
	err := c.Wait()
	h.mu.Lock()
	delete(h.sessions, c.Process)
	h.mu.Unlock()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() < 0 { // a signal, which sshd reports differently from an exit code
		killed := struct {
			Signal      string
			Core        bool
			Error, Lang string
		}{Signal: "KILL"}
		_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(killed))
	} else {
		code := c.ProcessState.ExitCode()
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)})) //nolint:gosec // small
	}
	_ = channel.Close()
}

func (h *shellHost) target() sshexec.Target {
	return sshexec.Target{
		Name: "node1", Addr: h.listener.Addr().String(), User: "ubuntu",
		Auth: []sshexec.Auth{sshexec.Password("l0gin")}, HostKeys: sshexec.InsecureIgnoreHostKeys(),
	}
}

// jobDir returns the directory of a job on the host.
func (h *shellHost) jobDir(encoded string) string {
	return filepath.Join(h.home, ".local/state/sshexec/jobs", encoded)
}

// jobHost starts a host for a test. The cleanup of the test ends every job on the host.
func jobHost(t *testing.T) (*sshexec.Host, *shellHost) {
	t.Helper()
	if _, err := exec.LookPath("setsid"); err != nil {
		t.Fatal("these tests need setsid, from util-linux or busybox: ", err)
	}
	remote, err := newShellHost()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remote.close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() {
		if err := remote.endJobs(); err != nil {
			t.Error(err)
		}
	})
	return newPool(t, sshexec.Options{}).Host(remote.target()), remote
}

// endJobs ends every remaining job.
func (h *shellHost) endJobs() error {
	h.mu.Lock()
	h.refuse = nil
	h.mu.Unlock()
	pool := sshexec.NewPool(sshexec.Options{})
	defer pool.Close()
	host := pool.Host(h.target())
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	jobs, _ := host.Jobs(ctx, "") // the error is expected if a test has created an entry that is not a job
	for _, s := range jobs {
		if s.State == sshexec.JobEnded {
			continue
		}
		if err := host.Job(s.Name, "").Cancel(ctx); err != nil {
			return err
		}
	}
	return nil
}

// kept lists the entries of the directory with the jobs. The first job creates this directory.
func (h *shellHost) kept(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(h.jobDir(""))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}
