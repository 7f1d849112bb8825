package sshexec_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec"
)

// sshd is an OpenSSH server of this machine. It runs as the user of the tests, and only this user can log in.
type sshd struct {
	dir, addr, key string
	target         sshexec.Target
}

// startSSHD starts the server with further lines of configuration. Sessions have an empty home directory, because the shell would run
// the startup files in the real home directory before each command.
func startSSHD(t testing.TB, lines ...string) *sshd {
	t.Helper()
	program := "/usr/sbin/sshd"
	if _, err := os.Stat(program); err != nil {
		t.Skip("needs OpenSSH's sshd: ", err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	if me.Uid == "0" {
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := &sshd{dir: t.TempDir()}
	s.key = filepath.Join(s.dir, "id")
	hostKey, _ := writeKey(t, filepath.Join(s.dir, "host"))
	userKey, pemText := writeKey(t, s.key)
	if err := os.WriteFile(filepath.Join(s.dir, "authorized"), []byte(userKey), 0o600); err != nil {
		t.Fatal(err)
	}
	home := filepath.Join(s.dir, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	// sshd uses only the first SetEnv.
	environment := "SetEnv HOME=" + home
	for i, line := range lines {
		if variables, found := strings.CutPrefix(line, "SetEnv "); found {
			environment += " " + variables
			lines = slices.Delete(slices.Clone(lines), i, i+1)
			break
		}
	}
	config := filepath.Join(s.dir, "config")
	text := strings.Join(append(lines, environment,
		"HostKey "+filepath.Join(s.dir, "host"), "AuthorizedKeysFile "+filepath.Join(s.dir, "authorized"),
		"PidFile none", "StrictModes no", "UsePAM no", "PermitRootLogin yes", ""), "\n")
	if !strings.Contains(text, "Subsystem") {
		text += "Subsystem sftp /usr/lib/openssh/sftp-server\n"
	}
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.addr = inetd(t, program, config)
	auth, err := sshexec.PrivateKey([]byte(pemText))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := sshexec.PinnedHostKeys(hostKey)
	if err != nil {
		t.Fatal(err)
	}
	s.target = sshexec.Target{Name: "sshd", Addr: s.addr, User: me.Username, Auth: []sshexec.Auth{auth}, HostKeys: keys}
	return s
}

// onServerCPU returns a command of the server, which ends with its connection. If SSHEXEC_BENCH_SERVER_CPU is set, the command runs on
// this CPU. Benchmarks run their clients on another CPU (taskset), so that the server takes no time from them.
func onServerCPU(program string, args ...string) *exec.Cmd {
	if cpu := os.Getenv("SSHEXEC_BENCH_SERVER_CPU"); cpu != "" {
		program, args = "taskset", append([]string{"-c", cpu, program}, args...)
	}
	return exec.Command(program, args...) //nolint:noctx,gosec // ends with its connection; the user of the benchmark chooses the CPU
}

// inetd starts an sshd for each connection, as inetd does, so the test can listen on any free port.
func inetd(t testing.TB, program, config string) (addr string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	var running []*exec.Cmd
	go func() {
		defer close(served)
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			file, err := c.(*net.TCPConn).File()
			_ = c.Close()
			if err != nil {
				t.Error(err)
				return
			}
			cmd := onServerCPU(program, "-i", "-e", "-f", config)
			cmd.Stdin, cmd.Stdout = file, file
			if err := cmd.Start(); err != nil {
				t.Error(err)
			} else {
				running = append(running, cmd)
			}
			_ = file.Close()
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		<-served
		for _, cmd := range running {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	})
	return listener.Addr().String()
}

func writeKey(t testing.TB, name string) (public, private string) {
	t.Helper()
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "")
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(block)
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	shown, err := ssh.NewPublicKey(pub)
	if err != nil {
		t.Fatal(err)
	}
	return string(ssh.MarshalAuthorizedKey(shown)), string(text)
}

func (s *sshd) host(t testing.TB) *sshexec.Host {
	t.Helper()
	pool := sshexec.NewPool(sshexec.Options{})
	t.Cleanup(func() { _ = pool.Close() })
	return pool.Host(s.target)
}

// scp runs OpenSSH's scp.
func (s *sshd) scp(t testing.TB, args ...string) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.addr)
	if err != nil {
		t.Fatal(err)
	}
	all := append([]string{"-q", "-i", s.key, "-P", port, "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "LogLevel=ERROR"}, args...)
	if out, err := exec.CommandContext(t.Context(), "scp", all...).CombinedOutput(); err != nil {
		t.Fatal(fmt.Errorf("scp: %w: %s", err, out))
	}
}
