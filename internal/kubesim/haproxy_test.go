package kubesim_test

import (
	"context"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

const soundHaproxy = `global
    log /dev/log local0
    stats socket /tmp/kubesim-haproxy.sock mode 600 level admin expose-fd listeners
    hard-stop-after 12h
defaults
    mode tcp
    log global
    option tcplog
    option dontlognull
    option redispatch 1
    retries 3
    timeout connect 2s
    timeout client 1h
    timeout server 1h
frontend a-1 # of somebody
    bind 0.0.0.0:18383
    bind [::]:18383 v6only
    default_backend a-1
backend a-1
    balance roundrobin
    option httpchk GET /readyz
    http-check expect status 200
    default-server check check-ssl verify none inter 1s fall 3 rise 1 on-marked-down shutdown-sessions tcp-ut 30s
    server one 10.0.0.1:6443
    server two [fd00::1]:6443
`

var haproxyConfigs = map[string]struct {
	text   string
	sound  bool
	passed bool // haproxy ignores it
}{
	"sound":             {soundHaproxy, true, false},
	"empty backend":     {soundHaproxy + "backend none\n", true, false},
	"no line feed":      {soundHaproxy + "backend none", false, false},
	"unknown keyword":   {soundHaproxy + "    nonsense\n", false, false},
	"wrong section":     {soundHaproxy + "    bind 0.0.0.0:1\n", false, true},
	"unknown option":    {soundHaproxy + "    option nonsense\n", false, false},
	"no such backend":   {soundHaproxy + "frontend b\n    bind 0.0.0.0:18384\n    default_backend b\n", false, false},
	"port":              {soundHaproxy + "frontend b\n    bind 0.0.0.0:99999\n    default_backend a-1\n", false, false},
	"bind's words":      {soundHaproxy + "frontend b\n    bind 0.0.0.0:18384 v7only\n    default_backend a-1\n", false, false},
	"server's words":    {soundHaproxy + "    server three 10.0.0.3:1 chek\n", false, false},
	"server's value":    {soundHaproxy + "    server three 10.0.0.3:1 weight\n", false, true},
	"no address":        {soundHaproxy + "    server three\n", false, false},
	"server twice":      {soundHaproxy + "    server one 10.0.0.3:1\n", false, false},
	"name of a backend": {soundHaproxy + "backend a b\n", false, true},
	"bad name":          {soundHaproxy + "backend a/b\n", false, false},
	"frontend twice":    {soundHaproxy + "frontend a-1\n    bind 0.0.0.0:18384\n    default_backend a-1\n", false, false},
	"without backend":   {soundHaproxy + "frontend b\n    bind 0.0.0.0:18384\n    default_backend\n", false, false},
}

const haproxyConfig = "/etc/haproxy/haproxy.cfg"

// programs are those of a machine that is no in-process host, with its files.
type programs struct {
	disk     afero.Fs
	commands map[string]sshtest.Command
}

// withHaproxy returns the programs of a machine with haproxy.
func withHaproxy(t testing.TB) *programs {
	t.Helper()
	p := &programs{disk: afero.NewMemMapFs()}
	p.commands = kubesim.NewWorld(kubesim.Options{}).Attach("m", netip.MustParseAddr("10.0.0.1"), "m", func() afero.Fs { return p.disk })
	p.must(t, "apt-get", "update")
	p.must(t, "apt-get", "install", "-y", "haproxy")
	return p
}

func (p *programs) run(ctx context.Context, args ...string) (out string, code int) {
	var said strings.Builder
	code = p.commands[args[0]](ctx, &sshtest.Process{
		Host: "m", Args: args, User: "root", Dir: "/", FS: p.disk, Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said,
		Env: func(string) string { return "" },
	})
	return said.String(), code
}

func (p *programs) must(t testing.TB, args ...string) string {
	t.Helper()
	out, code := p.run(t.Context(), args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s", args, code, out)
	}
	return out
}

func (p *programs) configure(t testing.TB, text string) {
	t.Helper()
	if err := afero.WriteFile(p.disk, haproxyConfig, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestHaproxyConfig(t *testing.T) {
	t.Parallel()
	p := withHaproxy(t)
	for name, test := range haproxyConfigs {
		p.configure(t, test.text)
		if out, code := p.run(t.Context(), "haproxy", "-c", "-f", haproxyConfig); (code == 0) != test.sound {
			t.Errorf("%s: exit code %d: %s", name, code, out)
		}
	}
}

// TestRealHaproxy: haproxy takes and refuses the same.
func TestRealHaproxy(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program = "/usr/sbin/haproxy"
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("haproxy is not installed")
	}
	for name, test := range haproxyConfigs {
		file := filepath.Join(t.TempDir(), "haproxy.cfg")
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, program, "-c", "-f", file).CombinedOutput()
		cancel()
		if (err == nil) != (test.sound || test.passed) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
