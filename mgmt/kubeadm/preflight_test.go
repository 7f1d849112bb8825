package kubeadm_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// unfit are machines that are unfit for a cluster in each way that does not keep kubeadm from working here: workers with the names, and the
// control-plane node.
func unfit() (setup, string) {
	fast := func(_ context.Context, p *sshtest.Process) int { // the clocks of workers are ten minutes fast
		now := time.Now()
		if strings.HasPrefix(p.Host, "worker") {
			now = now.Add(10 * time.Minute)
		}
		_, _ = fmt.Fprintln(p.Stdout, now.Unix())
		return 0
	}
	prints := func(text string) sshtest.Command {
		return func(_ context.Context, p *sshtest.Process) int {
			_, _ = fmt.Fprintln(p.Stdout, text)
			return 0
		}
	}
	image := `echo "MemTotal: 400000 kB" >/proc/meminfo; echo "Filename Type Size Used Priority" >/proc/swaps; echo "/dev/zram0 partition 1000 0 100" >>/proc/swaps
		mkdir -p /sys/fs/cgroup/memory /etc/kubernetes/pki /etc/kubesim && touch /etc/kubernetes/pki/ca.crt
		case $(hostname) in *orker*) echo 1400 >/sys/class/net/eth0/mtu; echo 10250 >/etc/kubesim/drop;; esac`
	return setup{sandbox: sandbox.Config{Commands: map[string]sshtest.Command{"date": fast, "nproc": prints("1"), "df": prints("Avail\n1048576")}}}, "sudo sh -c '" + image + "'"
}

// findingsOf are the findings of unfit machines, and parts of the problem and the remedy.
var findingsOf = map[string][]string{
	"clocks":    {"the clock of workerNode-0 is at least 9m59s ahead of the clock of masterNode-0", "ask the same time servers"},
	"disk":      {"/var/lib has 1 MiB free, and needs 3072 MiB", "/var/lib has 1 MiB free, and needs 2048 MiB", "free space"},
	"memory":    {"it has 390 MiB, and needs 1700 MiB", "it has 390 MiB, and needs 512 MiB", "larger flavor"},
	"cores":     {"it has 1 core, and a control-plane node needs 2", "larger flavor"},
	"mtu":       {"its interface with 198.18.1.11 has the MTU 1400, and that of masterNode-0 has 1500", "give both the same MTU"},
	"ports":     {"no connection from masterNode-0 to TCP 10250 of workerNode-0 (the kubelet)", "let security groups and firewalls pass it"},
	"cgroups":   {"has cgroup v1, which kubelets refuse", "use an image with cgroup v2"},
	"swap":      {"swap is on that /etc/fstab does not turn on: /dev/zram0", "failSwapOn"},
	"leftovers": {"it has files of another cluster", "use a clean image"},
}

// TestPreflight: all findings are in the error of one instantiation and refuse it before a machine is changed. Passed over by name, they are
// warnings of the operation. Later they refuse a scale-out for the new machine, and warn in a heal and a renewal.
func TestPreflight(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	machines, image := unfit()
	l := openLab(t, machines)
	m := l.Process(l.machines(image))
	opID, err := l.instantiateBy(m, clustertest.Sized("simple", 0))
	err = l.Fails(opID, err, m)
	var names []string
	for check, wants := range findingsOf {
		names = append(names, check)
		for _, want := range append(wants, check+": ") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q is not in %v", check, want, err)
			}
		}
	}
	if changes := l.changes(); len(changes) > 0 {
		t.Errorf("machines were changed: %q", changes)
	}
	l.RollBack(opID, m)

	passOver := `{"preflight":{"pass_over":["` + strings.Join(names, `","`) + `"]}}`
	id := l.Created()
	opID, err = m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 0), with(t, passOver)))
	l.Must(opID, err, m)
	for check, wants := range findingsOf {
		if text := l.warnings(opID); !strings.Contains(text, "passed over by the request: ") || !strings.Contains(text, ": "+check+": ") || !strings.Contains(text, wants[0]) {
			t.Errorf("%s is not in the warnings:\n%s", check, text)
		}
	}

	out := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	opID, err = m.Scale(ctx, id, out)
	if err := l.Fails(opID, err, m); strings.Contains(err.Error(), "preflight on workerNode-0") || strings.Contains(err.Error(), "cgroups: ") || !strings.Contains(err.Error(), "preflight on workerNode-1") {
		t.Errorf("scale-out: %v", err)
	}
	l.RollBack(opID, m)
	worker := l.vnfcs(id, "workerNode-0")
	for name, begin := range map[string]func() (string, error){
		"heal":    func() (string, error) { return m.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: worker}) },
		"renewal": func() (string, error) { return m.Maintain(ctx, id, renewal) },
	} {
		opID, err = begin()
		l.Must(opID, err, m)
		if text := l.warnings(opID); !strings.Contains(text, "preflight of ") || !strings.Contains(text, "memory: it has 390 MiB") {
			t.Errorf("%s: the warnings are\n%s", name, text)
		}
	}
	l.examine(id, []string{"clocks", "cores", "disk", "disk", "memory", "memory", "mtu", "ports", "swap", "swap"})
}

// TestPreflightOfOne: a finding of one worker refuses the instantiation before the machines without findings are changed, and its retry ends
// once the finding is corrected.
func TestPreflightOfOne(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{})
	const leftover = "/etc/kubernetes/pki/ca.crt"
	m := l.Process(l.machines("sudo sh -c 'case $(hostname) in *orker*) mkdir -p /etc/kubernetes/pki && touch " + leftover + ";; esac'"))
	opID, err := l.instantiateBy(m, clustertest.Sized("complex", 0))
	err = l.Fails(opID, err, m)
	if !strings.Contains(err.Error(), "preflight on workerNode-0") || strings.Contains(err.Error(), "masterNode") {
		t.Error(err)
	}
	if changes := l.changes(); len(changes) > 0 {
		t.Errorf("machines were changed: %q", changes)
	}
	if err := l.host("workerNode-0").FS().Remove(leftover); err != nil {
		t.Fatal(err)
	}
	l.Must(opID, m.Retry(t.Context(), opID), m)
}

// examine compares the checks of what Driver.Preflight finds.
func (l *lab) examine(id string, want []string) {
	l.t.Helper()
	err := l.Examine(l.t.Context(), id, func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
		for _, d := range drivers {
			found, err := d.(interface {
				Preflight(context.Context, *vnflcm.Operation) ([]kubeadm.PreflightFinding, error)
			}).Preflight(ctx, op)
			if err != nil {
				return err
			}
			var got []string
			for _, f := range found {
				got = append(got, f.Check)
				if f.Machine == "" || f.Problem == "" {
					l.t.Errorf("%+v", f)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(want, got); diff != "" {
				l.t.Errorf("check:\n%s", diff)
			}
		}
		return nil
	})
	if err != nil {
		l.t.Error(err)
	}
}

// TestPreflightOfSources: packages, names, registries and images that machines do not get.
func TestPreflightOfSources(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		setup setup
		patch string
		want  []string
		pass  string // the check that the request passes over: then the operation succeeds
	}{
		"packages": {setup: setup{sandbox: sandbox.Config{Missing: []string{"conntrack"}}}, want: []string{"packages: masterNode-0 cannot have the packages of a node", "Unable to locate package conntrack"}},
		"names":    {patch: `{"api_endpoint":"api.invalid","master_node":{"cluster_cp_name":null}}`, want: []string{"names: its name servers do not know api.invalid", "correct the name servers"}},
		"registries": {setup: setup{pkg: registrySetup(t).pkg}, patch: registryParams,
			want: []string{"registries: it does not reach the registry 198.18.9.8:5000", "registries: it does not reach the registry registry.example.com"}},
		"images": {setup: setup{sandbox: sandbox.Config{Missing: []string{"registry.k8s.io/kube-proxy:v1.36.3"}}}, pass: "images",
			want: []string{"images on masterNode-0", "images on workerNode-0", "image registry.k8s.io/kube-proxy:v1.36.3"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c.setup)
			changes := []mgmttest.Change{clustertest.Sized("simple", 0)}
			if c.patch != "" {
				changes = append(changes, with(t, c.patch))
			}
			_, opID, err := l.Begin("instantiate_sandbox.json", changes...)
			err = l.Fails(opID, err)
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q is not in %v", want, err)
				}
			}
			if c.pass == "" {
				return
			}
			id := l.Instantiated("instantiate_sandbox.json", append(changes, with(t, `{"preflight":{"pass_over":["`+c.pass+`"]}}`))...)
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", AdditionalParams: params(t, `{"preflight":{"pass_over":["`+c.pass+`"]}}`)}))
		})
	}
}

// TestPreflightChecksNamed: the guide has exactly the checks that exist, and each has a finding in the tests above.
func TestPreflightChecksNamed(t *testing.T) {
	t.Parallel()
	want := wantDocumented(t, "## Preflight", kubeadm.PreflightChecks)
	tested := append(slices.Collect(maps.Keys(findingsOf)), "packages", "names", "registries", "images", "snapshot")
	slices.Sort(tested)
	if diff := cmp.Diff(want, tested); diff != "" {
		t.Errorf("the tests:\n%s", diff)
	}
}
