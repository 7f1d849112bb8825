package script_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/script"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sample     = "../../examples/packages/k8s-cluster"
	driverName = "mgmt-drivers-kubernetes"
	scriptFile = "Scripts/driver.txt" // what the sample names as the file of its driver
	secret     = "canary-Passw0rd"
)

// lab is a VNF whose driver is a script of the package.
type lab struct {
	*mgmttest.Lab
	t      *testing.T
	report string // what the script has been given
	id     string
}

func newLab(t *testing.T, source string, files map[string]string, config script.Config) *lab {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("this machine has no python3, which runs the script")
	}
	pkg := map[string]string{scriptFile: source}
	for name, text := range files {
		pkg[name] = text
	}
	l := &lab{t: t, report: filepath.Join(t.TempDir(), "report")}
	l.Lab = mgmttest.Open(t, mgmttest.Setup{Package: mgmttest.Package(t, sample, pkg),
		Drivers: func(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
			config.Pool = pool
			return map[string]vnflcm.MgmtDriver{driverName: script.New(driverName, config)}
		}})
	return l
}

func sampleScript(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/script.py")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// params have the script do something in a hook.
func (l *lab) params(hook, do string) vnflcm.Params {
	l.t.Helper()
	p, err := vnflcm.NewParams(map[string]any{"report": l.report, "password": secret, "do": map[string]any{hook: do}})
	if err != nil {
		l.t.Fatal(err)
	}
	return p
}

// instantiate begins an instantiation in which the script does something at its end.
func (l *lab) instantiate(do string) (opID string, err error) {
	l.t.Helper()
	l.id, opID, err = l.Begin("instantiate_sandbox.json", func(r *vnflcm.InstantiateVnfRequest) {
		r.AdditionalParams = l.params("instantiate_end", do)
	})
	return opID, err
}

func (l *lab) scale(hook, do string) (string, error) {
	l.t.Helper()
	return l.Scale(l.t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", AdditionalParams: l.params(hook, do)})
}

// given is what the script has been given in one hook.
type given struct {
	Said struct {
		Operation    string
		Request      map[string]any
		VnfInstance  map[string]any `json:"vnf_instance"`
		GrantRequest map[string]any `json:"grant_request"`
		Dir          string         `json:"tmp_csar_dir"`
		ErrorData    map[string]any `json:"user_script_err_handling_data"`
	}
	Argv, Files []string
	Environment map[string]string
	Folder      string
}

// given returns the calls of the script so far.
func (l *lab) given() []given {
	l.t.Helper()
	text, err := os.ReadFile(l.report)
	if err != nil {
		l.t.Fatal(err)
	}
	var out []given
	for line := range strings.Lines(string(text)) {
		var g given
		if err := json.Unmarshal([]byte(line), &g); err != nil {
			l.t.Fatal(err)
		}
		out = append(out, g)
	}
	return out
}

// TestLifecycle takes a VNF through its life, and looks at what the script is given and at what becomes of its result.
func TestLifecycle(t *testing.T) {
	t.Setenv("VNFKIT_CANARY", secret)
	l := newLab(t, sampleScript(t), nil, script.Config{})
	l.Must(l.instantiate("change"))
	l.Must(l.scale("scale_start", "nothing"))
	l.Must(l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.VNFCs(l.id)[0].ID}, AdditionalParams: l.params("", "")}))
	l.wantResult()
	l.Must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful, AdditionalParams: l.params("", "")}))

	calls := l.given()
	var hooks []string
	for _, g := range calls {
		hooks = append(hooks, g.Said.Operation)
		if len(g.Environment) < 4 || g.Environment["VNFKIT_CANARY"] != "" || strings.Contains(fmt.Sprint(g.Argv, g.Environment), secret) {
			t.Errorf("%s: argv %q, environment %q", g.Said.Operation, g.Argv, g.Environment)
		}
		if g.Folder != g.Said.Dir || !slices.Contains(g.Files, "Definitions") {
			t.Errorf("%s ran in %s, tmp_csar_dir is %s with %q", g.Said.Operation, g.Folder, g.Said.Dir, g.Files)
		}
		if _, err := os.Stat(g.Said.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s is left: %v", g.Said.Dir, err)
		}
	}
	want := []string{"instantiate_end", "scale_start", "scale_end", "heal_start", "heal_end", "terminate_start", "terminate_end"}
	if diff := cmp.Diff(want, hooks); diff != "" {
		t.Fatal(diff)
	}
	first := calls[0].Said
	info, _ := first.VnfInstance["instantiatedVnfInfo"].(map[string]any)
	vims, _ := first.VnfInstance["vimConnectionInfo"].(map[string]any)
	vnfcs, _ := info["vnfcResourceInfo"].([]any)
	if len(vnfcs) != 2 || vims["1"] == nil || first.Request["flavourId"] != "simple" || first.Request["additionalParams"].(map[string]any)["password"] != secret {
		t.Errorf("instantiate_end was given %+v", first)
	}
}

// wantResult holds that metadata and a VIM which the script has returned are taken over, and its other changes are not.
func (l *lab) wantResult() {
	l.t.Helper()
	for _, v := range l.VNFCs(l.id) {
		if v.VduID == "workerNode" && v.Metadata["alarm"] != "" {
			l.t.Errorf("metadata of a worker: %v", v.Metadata)
		}
	}
	vim, err := l.VIMs().Get(l.t.Context(), "", script.VIMID(l.id, "cluster"))
	if err != nil || vim.VimType != "kubernetes" {
		l.t.Errorf("VIM %+v: %v", vim, err)
	}
	if _, err := l.VIMs().Get(l.t.Context(), "", "theirs"); !errors.Is(err, vnflcm.ErrNotFound) {
		l.t.Errorf("a script has registered a VIM under an id of its choice: %v", err)
	}
	inst, err := l.Get(l.t.Context(), l.id)
	if err != nil || inst.VnfInstanceName == "other" || !strings.Contains(l.Log(), "vnfInstanceName") {
		l.t.Errorf("the instance has the name %q (%v)", inst.VnfInstanceName, err)
	}
}

// TestPublished has a script give a VNFC metadata.
func TestPublished(t *testing.T) {
	t.Parallel()
	l := newLab(t, sampleScript(t), nil, script.Config{})
	l.Must(l.instantiate("change"))
	for _, v := range l.VNFCs(l.id) {
		want := ""
		if v.VduID == "masterNode" {
			want = "7 [1,2]"
		}
		if got := strings.TrimSpace(v.Metadata["alarm"] + " " + v.Metadata["ports"]); got != want {
			t.Errorf("%s has the metadata %v", v.VduID, v.Metadata)
		}
	}
}

// TestFailure has a script fail; what it has returned for the next attempt comes back to it, and no secret is shown.
func TestFailure(t *testing.T) {
	t.Parallel()
	l := newLab(t, sampleScript(t), nil, script.Config{})
	opID, err := l.instantiate("fail")
	failed := l.Fails(opID, err)
	if text := failed.Error(); !strings.Contains(text, "no server answers with password ***") || strings.Contains(text, secret) || !strings.Contains(text, "3") {
		t.Errorf("error %v", failed)
	}
	retried := l.Retry(t.Context(), opID)
	_ = l.Fails(opID, retried)
	calls := l.given()
	if len(calls) != 2 || len(calls[0].Said.ErrorData) > 0 {
		t.Fatalf("%d calls, the first was given %v", len(calls), calls[0].Said.ErrorData)
	}
	if diff := cmp.Diff(map[string]any{"tried": 1.0, "secret": "canary-data"}, calls[1].Said.ErrorData); diff != "" {
		t.Error(diff)
	}
	if strings.Contains(l.Log()+l.Stored(), "canary-") {
		t.Error("a secret is in the log or in the store")
	}
	l.RollBack(opID)
}

// TestHostile has scripts print what cannot be taken: the operation completes, and nothing of it has an effect.
func TestHostile(t *testing.T) {
	for _, do := range []string{"flood", "text", "call", "laugh"} {
		t.Run(do, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, sampleScript(t), nil, script.Config{})
			opID, err := l.instantiate(do)
			occ, err := l.End(opID, err)
			if (err != nil) != (do == "flood") {
				t.Errorf("operation %+v: %v", occ, err)
			}
			if _, err := os.Stat(l.report + ".called"); err == nil {
				t.Error("a pickle was let call a program")
			}
			if do != "flood" && !strings.Contains(l.Log(), "the output of the script is ignored") {
				t.Error("no warning")
			}
		})
	}
}

// TestTimeout has a script hang with a child, which both end with the time. The time is longer in a further attempt if the script had
// not begun.
func TestTimeout(t *testing.T) {
	t.Parallel()
	for limit := time.Second; ; limit *= 8 {
		l := newLab(t, sampleScript(t), nil, script.Config{Timeout: limit})
		opID, err := l.instantiate("hang")
		failed := l.Fails(opID, err)
		if !errors.Is(failed, sshexec.ErrTimeout) {
			t.Errorf("error %v", failed)
		}
		if _, err := os.Stat(l.report); err != nil && limit < time.Minute {
			continue
		}
		dir := l.given()[0].Said.Dir
		if out, err := exec.CommandContext(t.Context(), "pgrep", "-f", dir).Output(); err == nil {
			t.Errorf("processes are left: %s", out)
		}
		return
	}
}

// TestValidate refuses scripts that cannot work, before a machine is made.
func TestValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		files  map[string]string
		want   []string
	}{
		"of Tacker": {"import os, tacker.common.exceptions\nfrom tacker import context\nfrom oslo_of_nobody import log\n", nil,
			[]string{"imports tacker.common.exceptions, which", "imports tacker, which", "imports oslo_of_nobody, which"}},
		"no Python":     {"def f(:\n", nil, []string{"is no Python"}},
		"a zero":        {"a\x00b", nil, []string{"is no Python"}},
		"too large":     {strings.Repeat("# comment\n", 200_000), nil, []string{"is larger than 1048576 bytes"}},
		"a module near": {"import near, os.path\n", map[string]string{"Scripts/near.py": ""}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, c.source, c.files, script.Config{})
			opID, err := l.instantiate("")
			if c.want == nil {
				l.Must(opID, err)
				return
			}
			l.Refused(err)
			for _, text := range c.want {
				if !strings.Contains(fmt.Sprint(err), "VNFD artifacts."+driverName) || !strings.Contains(fmt.Sprint(err), text) {
					t.Errorf("%v does not say %q", err, text)
				}
			}
		})
	}
}

// TestTacker runs the script that Tacker brings along as a pattern.
func TestTacker(t *testing.T) {
	t.Parallel()
	root := os.Getenv("VNFKIT_TACKER")
	if root == "" {
		t.Skip("VNFKIT_TACKER names no checkout of Tacker")
	}
	text, err := os.ReadFile(filepath.Join(root, "tacker/sol_refactored/mgmt_drivers/sample_script.py")) //nolint:gosec // the tester's own
	if err != nil {
		t.Fatal(err)
	}
	l := newLab(t, string(text), nil, script.Config{})
	l.Must(l.instantiate(""))
	opID, err := l.scale("", "")
	if failed := l.Fails(opID, err); !strings.Contains(failed.Error(), "scale_start is not included in the script") {
		t.Errorf("a hook that the script lacks: %v", failed)
	}
}

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, script.New("script", script.Config{Pool: sshexec.NewPool(sshexec.Options{})}))
}

// TestHookNeverRun has a VNFD name the driver for a hook that no operation has.
func TestHookNeverRun(t *testing.T) {
	t.Parallel()
	const flavour, types = "Definitions/k8s_cluster_df_simple.yaml", "Definitions/k8s_cluster_types.yaml"
	l := newLab(t, sampleScript(t), map[string]string{
		flavour: sampleWith(t, flavour, "        Vnflcm:\n", "          change_flavour_start: {implementation: "+driverName+"}\n"),
		types:   sampleWith(t, types, "        type: tosca.interfaces.nfv.Vnflcm\n", "        change_flavour_start: {description: of SOL001 version 3}\n"),
	}, script.Config{})
	l.Must(l.instantiate(""))
	if !strings.Contains(l.Log(), "change_flavour_start") {
		t.Error("no warning names the hook")
	}
}

// TestOperateHooks has a VNFD name the driver for the hooks of a stop and a start. Scripts get the request.
func TestOperateHooks(t *testing.T) {
	t.Parallel()
	const flavour = "Definitions/k8s_cluster_df_simple.yaml"
	hooks := "          operate_start: {implementation: " + driverName + "}\n          operate_end: {implementation: " + driverName + "}\n"
	l := newLab(t, sampleScript(t), map[string]string{flavour: sampleWith(t, flavour, "        Vnflcm:\n", hooks)}, script.Config{})
	l.Must(l.instantiate("nothing"))
	stop := vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 9, AdditionalParams: l.params("", "")}
	l.Must(l.Operate(t.Context(), l.id, stop))
	start := vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted, AdditionalParams: l.params("operate_end", "fail")}
	opID, err := l.Operate(t.Context(), l.id, start)
	if err := l.Fails(opID, err); err == nil || !strings.Contains(err.Error(), "no server answers with password ***") {
		t.Errorf("error %v", err)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	start.AdditionalParams = l.params("", "")
	l.Must(l.Operate(t.Context(), l.id, start))
	var calls []string
	for _, g := range l.given()[1:] {
		calls = append(calls, fmt.Sprint(g.Said.Operation, " ", g.Said.Request["changeStateTo"], " ", g.Said.Request["stopType"], " ", g.Said.Request["gracefulStopTimeout"]))
	}
	want := []string{"operate_start STOPPED GRACEFUL 9", "operate_end STOPPED GRACEFUL 9", "operate_start STARTED <nil> <nil>", "operate_end STARTED <nil> <nil>",
		"operate_start STARTED <nil> <nil>", "operate_end STARTED <nil> <nil>"}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Error(diff)
	}
}

// sampleWith is a file of the sample with a line added behind another one.
func sampleWith(t *testing.T, file, behind, line string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sample, file)) //nolint:gosec // our own
	if err != nil || !strings.Contains(string(text), behind) {
		t.Fatalf("%s lacks %q: %v", file, behind, err)
	}
	return strings.Replace(string(text), behind, behind+line, 1)
}
