package loadbalancer_test

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestInstall(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for name, missing := range map[string][]string{"present": nil, "haproxy": {"haproxy"}, "both": {"haproxy", "ss"}} {
		s.missing = missing
		before := len(s.host.Commands())
		if err := s.Install(t.Context(), map[string]string{"http_proxy": "http://u:canary@p", "https_proxy": "http://p", "no_proxy": "x"}); err != nil {
			t.Fatal(err)
		}
		installed := ""
		for _, r := range s.host.Commands()[before:] {
			if r.Argv[0] == "apt-get" && slices.Contains(r.Argv, "install") {
				installed = strings.Join(r.Argv[slices.Index(r.Argv, "--allow-downgrades")+1:], " ")
				if !slices.Contains(r.Env, "http_proxy=http://u:canary@p") {
					t.Error("apt-get is not told of the proxy")
				}
			}
			if strings.Contains(strings.Join(r.Argv, " "), "canary") {
				t.Errorf("a password is in %q", r.Argv)
			}
		}
		if want := map[string]string{"haproxy": "haproxy", "both": "haproxy iproute2"}[name]; installed != want {
			t.Errorf("%s: installed %q", name, installed)
		}
	}
	s.host.SetFaults(sshtest.Faults{Refuse: true})
	s.host.CutConnections()
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := s.Install(short, nil); err == nil {
		t.Error("a machine that is down is not noticed")
	}
}

// TestInstallCutShort: where an installation was killed the program may be there, but not the user that it runs as.
func TestInstallCutShort(t *testing.T) {
	t.Parallel()
	s := newSite(t, func(c *sshtest.Config) { c.Users = nil })
	if err := s.Install(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(s.host.Commands(), func(r sshtest.Record) bool { return r.Argv[0] == "apt-get" && slices.Contains(r.Argv, "install") }) {
		t.Error("it is not finished")
	}
}

// TestScript: the package's script is run as Tacker runs it, and what it leaves as haproxy.cfg is taken over.
func TestScript(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	const script = `set -eu
echo "$(id -un)|$*|$http_proxy" >/tmp/ran
echo '# of the script' | sudo tee /etc/haproxy/haproxy.cfg >/dev/null
`
	if err := s.host.FS().MkdirAll("/etc/haproxy", 0o755); err != nil {
		t.Fatal(err)
	}
	controlPlane := []netip.Addr{netip.MustParseAddr("10.10.0.1"), netip.MustParseAddr("::ffff:10.10.0.2")}
	for range 2 {
		err := s.Script(t.Context(), strings.NewReader(script), controlPlane, []netip.Addr{netip.MustParseAddr("2001:db8::7")}, map[string]string{"http_proxy": "http://u:canary@p"})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.file("/tmp/ran"); got != "ubuntu|-m 10.10.0.1,10.10.0.2 -w 2001:db8::7|http://u:canary@p\n" {
			t.Errorf("%q", got)
		}
		if err := s.Put(t.Context(), "cluster/c", loadbalancer.Cluster(0, servers("m1"), nil)); err != nil {
			t.Fatal(err)
		}
		if got := s.file(loadbalancer.ConfigFile + ".before-vnfkit"); got != "# of the script\n" || len(s.servers(8383)) != 1 {
			t.Errorf("%q, %q", got, s.servers(8383))
		}
	}
	err := s.Script(t.Context(), strings.NewReader("echo $http_proxy >&2; exit 3"), controlPlane, nil, map[string]string{"http_proxy": "http://u:canary@p"})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || exit.Code != 3 || strings.Contains(err.Error(), "canary") {
		t.Error(err)
	}
}

// TestSampleScript: the script of the sample package installs what is missing, through the proxy.
func TestSampleScript(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../examples/packages/k8s-cluster-kubespray/Scripts/install_external_lb.sh")
	if err != nil {
		t.Fatal(err)
	}
	s := newSite(t)
	for want, missing := range map[string][]string{"": nil, "iproute2": {"ss"}, "haproxy iproute2": {"haproxy", "ss"}} {
		s.missing = missing
		before := len(s.host.Commands())
		controlPlaneNode := []netip.Addr{netip.MustParseAddr("10.10.0.1")}
		if err := s.Script(t.Context(), bytes.NewReader(script), controlPlaneNode, controlPlaneNode, map[string]string{"http_proxy": "http://u:canary@p", "https_proxy": "http://p", "no_proxy": "x"}); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, r := range s.host.Commands()[before:] {
			if strings.Contains(strings.Join(r.Argv, " "), "canary") {
				t.Errorf("a password is in %q", r.Argv)
			}
			if r.Argv[0] != "apt-get" {
				continue
			}
			if r.User != "root" || !slices.Contains(r.Env, "http_proxy=http://u:canary@p") {
				t.Errorf("apt-get is run by %s with %q", r.User, r.Env)
			}
			if i := slices.Index(r.Argv, "--no-install-recommends"); i >= 0 {
				got = strings.Join(r.Argv[i+1:], " ")
			}
		}
		if got != want {
			t.Errorf("without %q it installs %q", missing, got)
		}
	}
	if err := s.Script(t.Context(), strings.NewReader("exit 1"), nil, nil, nil); err == nil {
		t.Error("a script that fails is no fault")
	}
}
