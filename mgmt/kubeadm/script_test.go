package kubeadm_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const scriptName = "Scripts/install_k8s_cluster.sh"

var (
	bootstrapToken = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	hexHash        = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// packageWith returns a copy of the sample package with an edited node script.
func packageWith(t testing.TB, edit func(script string) string) string {
	t.Helper()
	script, err := os.ReadFile(filepath.Join(packageDir, scriptName))
	if err != nil {
		t.Fatal(err)
	}
	edited := edit(string(script))
	if edited == string(script) {
		t.Fatal("the script is as it was: the test has lost its way")
	}
	return mgmttest.Package(t, packageDir, map[string]string{scriptName: edited})
}

// scriptRuns returns the runs of the node script on a machine.
func scriptRuns(h *sshtest.Host) []sshtest.Record {
	return slices.DeleteFunc(h.Commands(), func(r sshtest.Record) bool {
		return r.Argv[0] != "bash" || len(r.Argv) < 2 || r.Argv[1] != "/tmp/install_k8s_cluster.sh"
	})
}

func TestScriptArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flavour, patch string
		want           map[string][]string // by machine
		env            []string
	}{
		{"simple", `{}`, map[string][]string{
			"masterNode-0": {"-m", "198.18.0.10", "-i", "198.18.0.10", "-p", "10.244.0.0/16", "-a", "10.96.0.0/12"},
			"workerNode-0": {"-w", "198.18.1.11", "-i", "198.18.0.10", "-t", "TOKEN", "-s", "HASH"},
		}, []string{"ha_flag=False"}},
		{"complex", `{"master_node":{"pod_cidr":"172.16.5.0/16","cluster_cidr":"172.20.0.0/16"},
			"proxy":{"http_proxy":"http://user:pw@proxy:3128","https_proxy":"http://proxy:3129","no_proxy":"a.example.com,.b","k8s_node_cidr":"198.18.0.0/16"},
			"private_registry_connection_info":[{"connection_type":"0","server":"192.168.0.10:5000"},{"connection_type":"0","server":"r.example.com"}]}`,
			map[string][]string{
				"masterNode-0": {"-m", "198.18.0.10,198.18.1.11,198.18.2.12", "-i", "198.18.0.10", "-p", "172.16.0.0/16", "-a", "172.20.0.0/16"},
				"masterNode-1": {"-m", "198.18.0.10,198.18.1.11,198.18.2.12", "-i", "198.18.0.10", "-p", "172.16.0.0/16", "-a", "172.20.0.0/16", "-t", "TOKEN", "-s", "HASH", "-k", "KEY"},
				"workerNode-0": {"-w", "198.18.0.13", "-i", "198.18.0.10", "-t", "TOKEN", "-s", "HASH"},
			}, []string{
				`HTTP_PRIVATE_REGISTRIES="192.168.0.10:5000","r.example.com"`, "ha_flag=True", "http_proxy=http://user:pw@proxy:3128", "https_proxy=http://proxy:3129",
				// The nodes' network is one entry: its 65,536 addresses one by one would take a megabyte.
				"no_proxy=a.example.com,.b,127.0.0.1,localhost,172.16.0.0/16,172.20.0.0/16,198.18.0.10,198.18.0.0/16",
			}},
	} {
		t.Run(c.flavour, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.Instantiated("instantiate_script.json", func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = c.flavour }, with(t, c.patch))
			for name, want := range c.want {
				runs := scriptRuns(l.host(name))
				if len(runs) != 1 {
					t.Fatalf("%s: the script ran %d times", name, len(runs))
				}
				got := runs[0].Argv[2:]
				for i := 1; i < len(got); i++ { // secrets differ in every run
					switch {
					case got[i-1] == "-t" && bootstrapToken.MatchString(got[i]):
						got[i] = "TOKEN"
					case got[i-1] == "-s" && hexHash.MatchString(got[i]):
						got[i] = "HASH"
					case got[i-1] == "-k" && hexHash.MatchString(got[i]):
						got[i] = "KEY"
					}
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: arguments\n%s", name, diff)
				}
				ours := slices.DeleteFunc(slices.Clone(runs[0].Env), func(pair string) bool {
					name, _, _ := strings.Cut(pair, "=")
					return !slices.Contains([]string{"http_proxy", "https_proxy", "no_proxy", "ha_flag", "HTTP_PRIVATE_REGISTRIES"}, name)
				})
				if diff := cmp.Diff(c.env, ours); diff != "" {
					t.Errorf("%s: environment\n%s", name, diff)
				}
				if runs[0].User != "ubuntu" {
					t.Errorf("%s: the script ran as %s", name, runs[0].User)
				}
			}
			if n := l.World.JoinTokens(); n != 0 {
				t.Errorf("%d tokens are left", n)
			}
		})
	}
}

// TestScriptHealsFirst checks that the first address is never that of a node which is being replaced. Tacker's scripts
// create a new cluster on the machine with the first address.
func TestScriptHealsFirst(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_script.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	m := l.Process(func(c *vnflcm.Config) { c.Infra = map[string]vnflcm.InfraDriver{"sandbox": byAddress{l.World}} })
	opID, err := m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-0")})
	l.Must(opID, err, m)
	runs := scriptRuns(l.host("masterNode-0"))
	if len(runs) != 1 {
		t.Fatalf("the script ran %d times on the new machine", len(runs))
	}
	if diff := cmp.Diff([]string{"-m", "198.18.1.11,198.18.2.12,198.18.0.10"}, runs[0].Argv[2:4]); diff != "" {
		t.Error(diff)
	}
}

// byAddress puts a new machine at the place of the replaced one in the list, as Heat does with members of a group.
type byAddress struct{ *sandbox.World }

func (b byAddress) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := b.World.Resources(ctx, op)
	slices.SortFunc(r.VNFCs, func(a, b vnflcm.VNFC) int { return a.CPs[0].Fixed[0].Compare(b.CPs[0].Fixed[0]) })
	return r, err
}

// TestScriptHostNames checks that every machine has the host names that the script sets in /etc/hosts.
func TestScriptHostNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.Instantiated("instantiate_script.json", func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = "simple" })
	for _, machine := range []string{"masterNode-0", "workerNode-0"} {
		_, block, _ := strings.Cut(l.file(machine, "/etc/hosts"), "# BEGIN vnfkit\n")
		want := "198.18.0.10 master-198-18-0-10\n198.18.1.11 worker-198-18-1-11\n198.18.0.10 master10\n198.18.1.11 worker11\n# END vnfkit\n"
		if diff := cmp.Diff(want, block); diff != "" {
			t.Errorf("%s:\n%s", machine, diff)
		}
	}
}

func TestScriptOutput(t *testing.T) {
	t.Parallel()
	for _, missing := range []string{"token:", "server:", "ssl_ca_cert_hash:"} {
		t.Run("without "+missing, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: packageWith(t, func(s string) string {
				return strings.Replace(s, `echo "`+missing, `echo "key is abcdef.0123456789abcdef" >&2; echo "not `+missing, 1)
			})})
			_, opID, err := l.Begin("instantiate_script.json")
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), scriptName+` printed no line "`+missing+`" (docs/tacker.md#a-script-that-prints-no-line-token)`) {
				t.Errorf("the error is %v", err)
			} else if text := err.Error(); !strings.Contains(text, "not "+missing) || !strings.Contains(text, `\nkey is ***"`) || strings.Contains(text, "abcdef.") {
				t.Errorf("the end of the output is not in the error, or a token is: %v", err)
			}
			if n := len(scriptRuns(l.host("workerNode-0"))); n != 0 {
				t.Errorf("the script ran %d times on the worker", n)
			}
		})
	}
}

// TestScriptWithoutNetworkPlugin: the error says which part of the cluster is the script's.
func TestScriptWithoutNetworkPlugin(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Ready: 2 * time.Second}},
		pkg: mgmttest.Package(t, packageDir, map[string]string{"Files/kubernetes/cni.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: no-network\n"})})
	_, opID, err := l.Begin("instantiate_script.json")
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "(docs/tacker.md#a-script-without-network-plugin)") {
		t.Error(err)
	}
}

// TestScriptFails checks that the error names the machine, the command and its output, also after it was read from the
// store.
func TestScriptFails(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ role, condition, host string }{
		{"the first control-plane node", `[ -n "$masters" ]`, "masterNode-0"},
		{"a worker", `[ -n "$worker" ]`, "workerNode-0"},
	} {
		t.Run(c.role, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: packageWith(t, func(s string) string {
				return strings.Replace(s, "\nprepare >&2\n", "\n"+`if `+c.condition+`; then echo "about to fail with $token" >&2; echo "the disk is full" >&2; exit 23; fi`+"\nprepare >&2\n", 1)
			})})
			_, opID, err := l.Begin("instantiate_script.json")
			err = l.Fails(opID, err)
			exit, ok := errors.AsType[*sshexec.ExitError](err)
			if !ok || exit.Code != 23 || exit.Host != c.host || !strings.Contains(exit.Stderr, "the disk is full") || !strings.Contains(exit.Command, "/tmp/install_k8s_cluster.sh") {
				t.Errorf("%v: %+v", err, exit)
			}
			reloaded := l.Process()
			occ, err := reloaded.Operation(t.Context(), opID)
			if err != nil {
				t.Fatal(err)
			}
			i := slices.IndexFunc(occ.Error.Steps, func(s vnflcm.StepFailure) bool { return s.Host == c.host })
			if i < 0 || occ.Error.Steps[i].ExitCode != 23 || !strings.Contains(occ.Error.Steps[i].Stderr, "the disk is full") {
				t.Errorf("after a reload: %+v", occ.Error)
			}
			l.noTokens(exit, occ.Error, fmt.Sprintf("%+v", occ))
		})
	}
}

// noTokens fails the test if credentials of joins and scripts are on the machines or in told.
func (l *lab) noTokens(told ...any) {
	l.t.Helper()
	var secrets []string
	for _, h := range l.World.Hosts() {
		for _, r := range h.Commands() {
			for i, arg := range r.Argv {
				if i > 0 && (r.Argv[i-1] == "-t" || r.Argv[i-1] == "-k" || r.Argv[i-1] == "--token" || r.Argv[i-1] == "--certificate-key") {
					secrets = append(secrets, arg)
				}
			}
		}
	}
	told = append(told, l.Log(), fmt.Sprintf("%+v", l.Events()))
	for _, secret := range secrets {
		for _, text := range told {
			if text := fmt.Sprintf("%v %+v %#v", text, text, text); secret != "" && strings.Contains(text, secret) {
				l.t.Errorf("%s is in %.300s", secret, text)
			}
		}
	}
	if n := l.World.JoinTokens(); n != 0 {
		l.t.Errorf("%d tokens are left", n)
	}
}

// TestScriptPrintsItsToken checks that the error has no token that the script itself created and printed before it failed.
func TestScriptPrintsItsToken(t *testing.T) {
	t.Parallel()
	const key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	l := openLab(t, setup{pkg: packageWith(t, func(s string) string {
		return strings.Replace(s, "\n  report\n", "\n"+`  report >&2; echo "kubeadm join --token abcdef.0123456789abcdef --certificate-key `+key+`" >&2; exit 1`+"\n", 1)
	})})
	_, opID, err := l.Begin("instantiate_script.json")
	err = l.Fails(opID, err)
	text := fmt.Sprintf("%v %+v", err, l.Events()) + l.Log()
	if exit, ok := errors.AsType[*sshexec.ExitError](err); !ok || !strings.Contains(exit.Stderr, "kubeadm join --token ***") {
		t.Errorf("it is hard to see what happened: %v", err)
	} else {
		text += exit.Stderr
	}
	if bootstrapToken.MatchString(text) || strings.Contains(text, key) {
		t.Errorf("a credential is in %s", text)
	}
}

// TestCollidingNames: two workers whose addresses end with the same number are refused before the script runs on any
// machine.
func TestCollidingNames(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id, opID, err := l.Begin("instantiate_script.json", func(r *vnflcm.InstantiateVnfRequest) { r.FlavourID = "simple" })
	l.Must(opID, err)
	m := l.Process(func(c *vnflcm.Config) {
		c.Infra = map[string]vnflcm.InfraDriver{"sandbox": sameOctets{l.World}}
	})
	opID, err = m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	if err := l.Fails(opID, err, m); !strings.Contains(err.Error(), "would both be worker11") {
		t.Errorf("the error is %v", err)
	}
	if n := len(l.host("workerNode-1").Commands()); n != 0 {
		t.Errorf("%d programs ran on the new machine", n)
	}
}

// sameOctets reports addresses that end with the same number.
type sameOctets struct{ *sandbox.World }

func (s sameOctets) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := s.World.Resources(ctx, op)
	for i, v := range r.VNFCs {
		for j, cp := range v.CPs {
			a := cp.Fixed[0].As4()
			a[3] = 11
			r.VNFCs[i].CPs[j].Fixed[0] = netip.AddrFrom4(a)
		}
	}
	return r, err
}

// TestWrongPassword: the driver waits for a machine that refuses the login, because cloud-init may still create the user.
// Then the error names the machine.
func TestWrongPassword(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Boot: 2 * time.Second}}})
	_, opID, err := l.Begin("instantiate_sandbox.json", with(t, `{"worker_node":{"password":"hunter2"}}`))
	err = l.Fails(opID, err)
	if !errors.Is(err, sshexec.ErrAuth) || !strings.Contains(err.Error(), "worker-198-18-1-11") || !strings.Contains(err.Error(), "no success within 2s") {
		t.Errorf("the error is %v", err)
	}
	if strings.Contains(fmt.Sprintf("%v %+v", err, l.Events())+l.Log(), "hunter2") {
		t.Error("the password is told")
	}
	l.noTokens()
}
