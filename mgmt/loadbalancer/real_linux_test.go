package loadbalancer_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// realHaproxy is the program of this machine.
func realHaproxy(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	t.Skip("there is no haproxy here, in PATH or /usr/sbin")
	return ""
}

// TestRealCheck: haproxy takes everything that is rendered here.
func TestRealCheck(t *testing.T) {
	t.Parallel()
	program := realHaproxy(t)
	configs := map[string]loadbalancer.Config{"empty": {}, "whole": whole()}
	for i, text := range seeds {
		configs[fmt.Sprintf("seed %d", i)] = configOf(text)
	}
	big := loadbalancer.Config{Parts: map[string]loadbalancer.Part{}}
	var nodes []loadbalancer.Server
	for i := range 300 {
		nodes = append(nodes, loadbalancer.Server{ID: strconv.Itoa(i), Name: fmt.Sprintf("%0250d", i), Address: netip.AddrFrom4([4]byte{10, 10, byte(i / 250), byte(i%250 + 1)})})
	}
	big.Parts["cluster/"+strings.Repeat("a", 190)] = loadbalancer.Cluster(0, nodes[:3], nodes[3:])
	for i := range 50 {
		big.Parts["cnf/"+strconv.Itoa(i)] = service(strings.Repeat("n", 250), 30000+i)
	}
	configs["big"] = big
	for name, c := range configs {
		text, err := c.Render()
		if err != nil {
			if strings.HasPrefix(name, "seed") {
				continue // one that is refused
			}
			t.Fatalf("%s: %v", name, err)
		}
		file := filepath.Join(t.TempDir(), "haproxy.cfg")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), program, "-c", "-f", file).CombinedOutput()
		if err != nil || bytes.Contains(out, []byte("WARNING")) || bytes.Contains(out, []byte("ALERT")) {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, text[:min(len(text), 3000)])
		}
	}
}

// realSite is a machine whose haproxy is the real one, which runs here as an ordinary user and listens on loopback.
type realSite struct {
	*site
	program, dir     string
	controlPlaneNode *exec.Cmd
	ended            chan struct{}
	mu               sync.Mutex
}

func newRealSite(t *testing.T) *realSite {
	t.Helper()
	r := &realSite{program: realHaproxy(t), ended: make(chan struct{})}
	if _, err := exec.LookPath("ss"); err != nil {
		t.Skip("there is no ss here, in PATH")
	}
	var err error
	//nolint:usetesting // what is above t.TempDir may be closed to the ordinary user
	if r.dir, err = os.MkdirTemp("", "haproxy"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(r.dir) })
	if err := os.Chmod(r.dir, 0o777); err != nil { //nolint:gosec // the ordinary user writes its socket there
		t.Fatal(err)
	}
	r.site = newSite(t, func(c *sshtest.Config) {
		c.Commands["haproxy"], c.Commands["systemctl"], c.Commands["ss"] = r.check, r.systemctl, r.ss
	})
	t.Cleanup(r.stop)
	return r
}

// local makes a configuration one for an ordinary user who may use loopback only.
func (r *realSite) local(text []byte) []byte {
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		switch words := strings.Fields(string(line)); {
		case len(words) == 0:
		case words[0] == "user", words[0] == "group", words[0] == "log" && len(words) == 3:
			continue
		case words[0] == "stats":
			line = []byte("    stats socket " + filepath.Join(r.dir, "admin.sock") + " mode 600 level admin expose-fd listeners\n")
		}
		out.Write(bytes.Replace(line, []byte("bind 0.0.0.0:"), []byte("bind 127.0.0.1:"), 1))
	}
	return out.Bytes()
}

func (r *realSite) check(ctx context.Context, p *sshtest.Process) int {
	text, err := afero.ReadFile(p.FS, p.Args[len(p.Args)-1])
	if err != nil {
		return fail(p, 1, err.Error())
	}
	file := filepath.Join(r.dir, "check.cfg")
	if err := os.WriteFile(file, r.local(text), 0o600); err != nil {
		return fail(p, 1, err.Error())
	}
	out, err := exec.CommandContext(ctx, r.program, "-c", "-f", file).CombinedOutput()
	if err != nil {
		return fail(p, 1, string(out))
	}
	return 0
}

func (r *realSite) systemctl(_ context.Context, p *sshtest.Process) int {
	if p.Args[1] != "reload-or-restart" {
		return 0
	}
	text, err := afero.ReadFile(p.FS, loadbalancer.ConfigFile)
	if err != nil {
		return fail(p, 1, err.Error())
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	file := filepath.Join(r.dir, "haproxy.cfg")
	if err := os.WriteFile(file, r.local(text), 0o644); err != nil { //nolint:gosec // the ordinary user reads it
		return fail(p, 1, err.Error())
	}
	if r.controlPlaneNode != nil {
		// as ExecReload of haproxy.service
		if err := r.controlPlaneNode.Process.Signal(syscall.SIGUSR2); err != nil {
			return fail(p, 1, err.Error())
		}
		return 0
	}
	//nolint:gosec,noctx // the program of this machine; it ends with the test
	r.controlPlaneNode = exec.Command(r.program, "-W", "-f", file, "-p", filepath.Join(r.dir, "pid"), "-S", filepath.Join(r.dir, "master.sock"))
	r.controlPlaneNode.SysProcAttr = ordinary()
	r.controlPlaneNode.Stdout, r.controlPlaneNode.Stderr = io.Discard, io.Discard
	if err := r.controlPlaneNode.Start(); err != nil {
		return fail(p, 1, err.Error())
	}
	go func() {
		defer close(r.ended)
		_ = r.controlPlaneNode.Wait()
	}()
	return 0
}

func (r *realSite) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.controlPlaneNode != nil {
		_ = r.controlPlaneNode.Process.Signal(syscall.SIGTERM)
		<-r.ended
	}
}

// ss is the real one.
func (r *realSite) ss(ctx context.Context, p *sshtest.Process) int {
	cmd := exec.CommandContext(ctx, "ss", p.Args[1:]...) //nolint:gosec // what is tested
	cmd.Stdout, cmd.Stderr = p.Stdout, p.Stderr
	if err := cmd.Run(); err != nil {
		return fail(p, 1, err.Error())
	}
	return 0
}
