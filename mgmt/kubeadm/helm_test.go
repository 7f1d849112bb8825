package kubeadm_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// helmInstaller installs the sandbox's Helm if it is called correctly. It counts its runs.
const helmInstaller = `#!/bin/bash
set -euo pipefail
[ "$(id -u)" = 0 ]
[ "$KUBECONFIG" = /etc/kubernetes/admin.conf ]
[ -f "$KUBECONFIG" ]
[ "$HOME" = /root ]
echo "proxy ${https_proxy:-none}" >>/root/helm-runs
mkdir -p /usr/local/bin
echo helm >/usr/local/bin/helm
`

const helmParams = `{"helm_installation_script_path":"Scripts/helm.sh"}`

func helmPackage(t testing.TB, script string) string {
	t.Helper()
	return mgmttest.Package(t, packageDir, map[string]string{"Scripts/helm.sh": script})
}

// helmRuns returns the runs that the script has recorded on a machine.
func (l *lab) helmRuns(h *sshtest.Host) string {
	l.t.Helper()
	runs, err := afero.ReadFile(h.FS(), "/root/helm-runs")
	if err != nil {
		return ""
	}
	return string(runs)
}

// withHelm checks that the script has run once on each control-plane node, and on no other machine.
func (l *lab) withHelm(controlPlane int) {
	l.t.Helper()
	have := 0
	for _, h := range l.World.Hosts() {
		runs := l.helmRuns(h)
		if isControlPlane := strings.HasPrefix(h.Name(), "masterNode"); isControlPlane != (runs == "proxy none\n") || !isControlPlane && runs != "" {
			l.t.Errorf("%s: %q", h.Name(), runs)
		}
		if runs != "" {
			have++
		}
		if err := l.login(h, "sh", "-c", "echo chart >/var/tacker/helm/probe && rm /var/tacker/helm/probe"); runs != "" && err != nil {
			l.t.Errorf("%s: the login user cannot write charts: %v", h.Name(), err)
		}
		if err := l.login(h, "sh", "-c", "test -r ~/.kube/config"); runs != "" && err != nil {
			l.t.Errorf("%s: the login user cannot reach the API: %v", h.Name(), err)
		}
	}
	if have != controlPlane {
		l.t.Errorf("Helm is on %d machines", have)
	}
}

// login runs a command as the login user of a machine.
func (l *lab) login(h *sshtest.Host, argv ...string) error {
	l.t.Helper()
	_, err := mgmttest.Run(l.t.Context(), h, sshexec.Command{Argv: argv, Stdin: strings.NewReader("canary-helm-1")})
	return err
}

func TestHelm(t *testing.T) {
	t.Parallel()
	for _, sample := range []string{"instantiate_sandbox.json", "instantiate_script.json"} {
		t.Run(sample, func(t *testing.T) {
			t.Parallel()
			if sample == "instantiate_script.json" {
				fulltest.SkipVariant(t)
			}
			l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
			id := l.Instantiated(sample, clustertest.Sized("complex", 0), with(t, helmParams))
			l.withHelm(3)
			l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			l.withHelm(3)
			l.Must(l.Heal(t.Context(), id, wholeHeal))
			l.withHelm(3)
		})
	}
}

// TestHelmProxy checks that the script has the proxy in its environment, and that the password of the proxy appears
// nowhere, even if the script fails and prints it.
func TestHelmProxy(t *testing.T) {
	t.Parallel()
	const params = `{"helm_installation_script_path":"Scripts/helm.sh","proxy":{"http_proxy":"http://user:canary-1@p:1","https_proxy":"http://user:canary-2@p:2"}}`
	l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
	l.Instantiated("instantiate_sandbox.json", with(t, params))
	if runs := l.helmRuns(l.host("masterNode-0")); runs != "proxy http://user:canary-2@p:2\n" {
		t.Errorf("%q", runs)
	}
	l.notOnMachines([]string{"canary"}, false)

	l = openLab(t, setup{pkg: helmPackage(t, `echo "cannot reach $https_proxy" >&2; exit 4`)})
	_, opID, err := l.Begin("instantiate_sandbox.json", with(t, params))
	err = l.Fails(opID, err)
	exit, ok := errors.AsType[*sshexec.ExitError](err)
	if !ok || exit.Code != 4 || !strings.Contains(exit.Stderr, "cannot reach ***") {
		t.Errorf("the error is %v", err)
	}
	if text := fmt.Sprintf("%v %+v %+v", err, exit, l.Events()) + l.Log(); strings.Contains(text, "canary") {
		t.Errorf("the proxy's password is in %s", text)
	}
}

// TestHelmDoesNothing: a script that exits with 0 but installs no Helm fails the step.
func TestHelmDoesNothing(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: helmPackage(t, "exit 0\n")})
	_, opID, err := l.Begin("instantiate_sandbox.json", with(t, helmParams))
	if err = l.Fails(opID, err); !strings.Contains(err.Error(), "Scripts/helm.sh has run on masterNode-0, but there is no Helm for CNFs") {
		t.Errorf("the error is %v", err)
	}
}

// TestHelmTooOld: a version of Helm that cannot install CNFs fails the step that installed it.
func TestHelmTooOld(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{"v3.5.4": "helm is v3.5.4: must be 3.14 or a later 3.x", "v4.0.1": "or 4.2 or a later 4.x", "v3.14.0": "", "v4.3.1": ""} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{pkg: helmPackage(t, strings.Replace(helmInstaller, "echo helm", "echo "+version, 1))})
			m, opID, err := l.Begin("instantiate_sandbox.json", with(t, helmParams))
			if want == "" {
				l.Must(opID, err)
				return
			}
			err = l.Fails(opID, err)
			if !errors.Is(err, helmclient.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "helm on ") {
				t.Errorf("%s: the error is %v", m, err)
			}
		})
	}
}

// onScaleOut calls a function at the end of a scale-out, within the operation.
type onScaleOut struct {
	*kubeadm.Driver
	do func(context.Context, *vnflcm.Operation) error
}

func (o onScaleOut) Hooks() vnflcm.Hooks {
	h := o.Driver.Hooks()
	h[vnflcm.ScaleEnd] = o.do
	return h
}

// TestRestoreHelm checks that the repositories of both users, with credentials, and the charts are copied to the other
// control-plane node.
func TestRestoreHelm(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0), with(t, helmParams))
	from, to := l.host("masterNode-0"), l.host("masterNode-2")
	for _, argv := range [][]string{
		{"helm", "repo", "add", "charts", "https://charts.example.com", "--username", "u", "--password-stdin"},
		{"sudo", "HOME=/root", "helm", "repo", "add", "away", "https://charts.invalid"},
		{"sh", "-c", "mkdir -p /var/tacker/helm/app/templates; echo a >/var/tacker/helm/app/Chart.yaml; echo b >/var/tacker/helm/app/templates/x.sh; chmod 750 /var/tacker/helm/app/templates/x.sh"},
		{"sudo", "sh", "-c", "umask 077; echo c >/var/tacker/helm/of-root.tgz"},
	} {
		if err := l.login(from, argv...); err != nil {
			t.Fatal(err)
		}
	}
	pool := sshexec.NewPool(sshexec.Options{Dial: l.World.Dial})
	defer pool.Close()
	driver := kubeadm.New(kubeadm.Config{Pool: pool})
	m := l.Process(func(c *vnflcm.Config) { c.Mgmt[driverName] = onScaleOut{driver, driver.RestoreHelm} })
	opID, err := m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
	l.Must(opID, err, m)
	for name, mode := range map[string]string{
		"/home/ubuntu/.config/helm/repositories.yaml": "-rw-------", "/root/.config/helm/repositories.yaml": "-rw-------",
		"/var/tacker/helm/app/Chart.yaml": "-rw-r--r--", "/var/tacker/helm/app/templates/x.sh": "-rwxr-x---", "/var/tacker/helm/of-root.tgz": "-rw-------",
	} {
		want, err := afero.ReadFile(from.FS(), name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := afero.ReadFile(to.FS(), name)
		if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
		if info, err := to.FS().Stat(name); err != nil || info.Mode().String() != mode {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if data, err := afero.ReadFile(to.FS(), "/home/ubuntu/.config/helm/repositories.yaml"); err != nil || !strings.Contains(string(data), "canary-helm-1") {
		t.Errorf("%s, %v", data, err)
	}
	if found, err := afero.Exists(to.FS(), "/home/ubuntu/.cache/helm/repository/charts-index.yaml"); !found || err != nil {
		t.Errorf("the index was not fetched, %v", err)
	}
	if !strings.Contains(l.Log(), "not every Helm repository could be read") {
		t.Error("no warning of the repository that does not answer")
	}
	if text := l.Log() + l.Stored() + fmt.Sprintf("%+v", l.Events()); strings.Contains(text, "canary") {
		t.Error("the password of a repository is told")
	}
	for _, h := range []*sshtest.Host{from, to} {
		for _, r := range h.Commands() {
			if strings.Contains(strings.Join(slices.Concat(r.Argv, r.Env), " "), "canary") {
				t.Errorf("%s: the password of a repository is in %q", h.Name(), r.Argv)
			}
		}
	}
}

// TestNoHelmToRestore: the cluster was created without Helm, and a later request names a script.
func TestNoHelmToRestore(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{pkg: helmPackage(t, helmInstaller)})
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
	pool := sshexec.NewPool(sshexec.Options{Dial: l.World.Dial})
	defer pool.Close()
	driver := kubeadm.New(kubeadm.Config{Pool: pool})
	m := l.Process(func(c *vnflcm.Config) { c.Mgmt[driverName] = onScaleOut{driver, driver.RestoreHelm} })
	opID, err := m.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", AdditionalParams: params(t, helmParams)})
	l.Must(opID, err, m)
	if !strings.Contains(l.Log(), "there is no Helm to bring back") {
		t.Error("it is not said")
	}
}

// TestHelmCrash kills the process at every point of the step, also while the script runs. The next process runs the script
// again only if it had not completed.
func TestHelmCrash(t *testing.T) {
	s := scenario{name: "instantiate", begin: func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.Instantiate(ctx, id, l.Request("instantiate_sandbox.json", with(l.t, helmParams)))
	}}
	p := prepared{setup: &setup{pkg: helmPackage(t, helmInstaller), sandbox: sandbox.Config{Takes: takes}}}
	p.check = func(l *lab) {
		for _, h := range l.World.Hosts() {
			if runs := strings.Count(l.helmRuns(h), "\n"); strings.HasPrefix(h.Name(), "masterNode") && (runs < 1 || runs > 2) {
				l.t.Errorf("%s: the script ran %d times", h.Name(), runs)
			}
		}
	}
	steps, want := s.undisturbed(t, p)
	step := steps[slices.IndexFunc(steps, func(step string) bool { return strings.Contains(step, "/helm/") })]
	crash(t, s.dying(p, cutsAt(step, slices.DeleteFunc(cutPointsOf(step), func(p crashtest.Point) bool { return p == crashtest.JournalLost })), want))
	p.check = func(l *lab) { l.withHelm(1) } // the probe finds Helm, so the script does not run again
	crash(t, s.dying(p, cutsAt(step, []crashtest.Point{crashtest.JournalLost}), want))
}

// FuzzHelmVariable: Variable returns a value as helm env prints it, and at most one line.
func FuzzHelmVariable(f *testing.F) {
	for _, seed := range []string{"", "/root/.config/helm/repositories.yaml", `a"b\`, "x\ny", "é", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		out := fmt.Sprintf("HELM_BIN=\"helm\"\nHELM_REPOSITORY_CONFIG=%q\nHELM_X=\"y\"\n", value)
		if got := kubeadm.HelmVar(out, "HELM_REPOSITORY_CONFIG"); got != value {
			t.Errorf("%q is read as %q", value, got)
		}
		if got := kubeadm.HelmVar(value, "HELM_REPOSITORY_CONFIG"); strings.Contains(got, "\n") && !strings.Contains(value, `\n`) {
			t.Errorf("%q is read as %q", value, got)
		}
	})
}
