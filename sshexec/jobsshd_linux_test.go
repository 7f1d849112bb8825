package sshexec_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// realSSHD is OpenSSH that runs as the user of the test, with a temporary home directory. If the tests run as root, it has separate
// directories /var/lib and /run, and a fake systemd.
type realSSHD struct {
	dir, addr string
	process   *exec.Cmd
}

func startJobSSHD(t *testing.T) (*sshexec.Host, *realSSHD) {
	t.Helper()
	if _, err := os.Stat("/usr/sbin/sshd"); err != nil {
		t.Skip("no OpenSSH server on this machine")
	}
	if os.Getuid() == 0 && exec.CommandContext(t.Context(), "unshare", "-m", "true").Run() != nil {
		t.Skip("root cannot create a mount namespace, and the test must not change the real /var/lib")
	}
	d := &realSSHD{dir: t.TempDir()}
	for _, dir := range []string{"home", "bin", "lib", "run/sshd", "run/systemd/system"} {
		if err := os.MkdirAll(filepath.Join(d.dir, dir), 0o755); err != nil { //nolint:gosec // the mode of these directories on a real host
			t.Fatal(err)
		}
	}
	for _, name := range []string{"host", "login"} {
		out, err := exec.CommandContext(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(d.dir, name)).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	fake := "#!/bin/sh\necho \"$@\" >>" + d.dir + "/scopes\nwhile [ \"$1\" != --unit ]; do shift; done; shift 2; exec \"$@\"\n"
	if err := os.WriteFile(filepath.Join(d.dir, "bin/systemd-run"), []byte(fake), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.addr = free.Addr().String()
	_ = free.Close()
	d.start(t)
	t.Cleanup(func() { d.kill(t) })
	key, err := os.ReadFile(filepath.Join(d.dir, "login"))
	if err != nil {
		t.Fatal(err)
	}
	auth, err := sshexec.PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	self, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	host := newPool(t, sshexec.Options{}).Host(sshexec.Target{
		Addr: d.addr, User: self.Username, Auth: []sshexec.Auth{auth}, HostKeys: sshexec.InsecureIgnoreHostKeys(),
	})
	if err := host.Wait(withinMinutes(t)); err != nil {
		t.Fatal(err)
	}
	return host, d
}

func (d *realSSHD) start(t *testing.T) {
	t.Helper()
	_, port, err := net.SplitHostPort(d.addr)
	if err != nil {
		t.Fatal(err)
	}
	config := fmt.Sprintf("Port %s\nListenAddress 127.0.0.1\nHostKey %[2]s/host\nAuthorizedKeysFile %[2]s/login.pub\nStrictModes no\n"+
		"PidFile none\nPermitRootLogin yes\nSetEnv HOME=%[2]s/home PATH=%[2]s/bin:/usr/sbin:/usr/bin:/sbin:/bin\n", port, d.dir)
	if err := os.WriteFile(filepath.Join(d.dir, "config"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	argv := []string{"/usr/sbin/sshd", "-D", "-e", "-f", filepath.Join(d.dir, "config")}
	if os.Getuid() == 0 {
		mounts := `mount --bind "$0/lib" /var/lib && mount --bind "$0/run" /run && exec "$@"`
		argv = append([]string{"unshare", "-m", "/bin/sh", "-c", mounts, d.dir}, argv...)
	}
	d.process = exec.Command(argv[0], argv[1:]...) //nolint:noctx,gosec // kill ends it; the arguments are constants of the test
	d.process.Stderr = t.Output()
	d.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := d.process.Start(); err != nil {
		t.Fatal(err)
	}
}

// kill kills sshd and every process that serves a connection. It stops the listening process first: a client whose connection ends
// comes back at once, and nothing would end the process that serves it then.
func (d *realSSHD) kill(t *testing.T) {
	t.Helper()
	n := d.process.Process.Pid
	if err := syscall.Kill(n, syscall.SIGSTOP); err != nil {
		t.Error(err)
	}
	if _, err := syscall.Wait4(n, nil, syscall.WUNTRACED, nil); err != nil {
		t.Error(err)
	}
	pid := strconv.Itoa(n)
	children, err := os.ReadFile("/proc/" + pid + "/task/" + pid + "/children")
	if err != nil {
		t.Error(err)
	}
	for _, child := range append(strings.Fields(string(children)), pid) {
		if n, err := strconv.Atoi(child); err == nil {
			_ = syscall.Kill(n, syscall.SIGKILL)
		}
	}
	_ = d.process.Wait()
}

// TestJobSurvivesSSHD checks that a job on a real OpenSSH continues when sshd and all its processes for connections are killed, and
// that Follow reads the output to its end once sshd runs again. A job of root is in a scope of systemd.
func TestJobSurvivesSSHD(t *testing.T) {
	t.Parallel()
	host, sshd := startJobSSHD(t)
	ctx := withinMinutes(t)
	goes := filepath.Join(sshd.dir, "go")
	job, err := host.StartJob(ctx, "a/b", sshexec.Command{
		Shell: `echo "$HOME"; while [ ! -e "$GO" ]; do sleep 0.05; done; exit 3`, Env: map[string]string{"GO": goes},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := errors.Join(job.Cancel(ctx), job.Remove(ctx)); err != nil {
			t.Error(err)
		}
	})
	var out bytes.Buffer
	followed := make(chan error)
	go func() {
		_, err := job.Follow(ctx, &out, 0)
		followed <- err
	}()
	sshd.kill(t)
	if err := os.WriteFile(goes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	sshd.start(t)
	if err := <-followed; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(sshd.dir+"/home\n", out.String()); diff != "" {
		t.Error(diff)
	}
	var exit *sshexec.ExitError
	if err := job.Wait(ctx); !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("got %v", err)
	}
	if os.Getuid() != 0 {
		return
	}
	scopes, err := os.ReadFile(filepath.Join(sshd.dir, "scopes"))
	if err != nil || !bytes.HasPrefix(scopes, []byte("--scope --quiet --collect --unit sshexec-job-")) || bytes.Count(scopes, []byte("\n")) != 1 {
		t.Errorf("%v: %s", err, scopes)
	}
	entries, err := os.ReadDir(filepath.Join(sshd.dir, "lib/sshexec/jobs"))
	if err != nil || len(entries) != 1 {
		t.Fatalf("%v, %v", entries, err)
	}
	if diff := cmp.Diff("a%2Fb", entries[0].Name()); diff != "" {
		t.Error(diff)
	}
}
