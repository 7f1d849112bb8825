package kubesim_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

// kubectlRun runs kubectl as the administrator of a cluster.
type kubectlRun func(t *testing.T, stdin string, args ...string) kubectlAnswer

// kubectlAnswer is how kubectl ends, and all that it prints.
type kubectlAnswer struct {
	Code int
	Text string
}

// simulatedKubectl is the kubectl of a simulated control-plane node.
func simulatedKubectl(t *testing.T) kubectlRun {
	t.Helper()
	s := newSite(t, "m1")
	s.cluster()
	return func(t *testing.T, stdin string, args ...string) (a kubectlAnswer) {
		t.Helper()
		var out bytes.Buffer
		argv := slices.Concat([]string{"kubectl"}, args, []string{"--kubeconfig=/etc/kubernetes/admin.conf"})
		err := s.host("m1").Exec(t.Context(), sshexec.Command{Argv: argv, Root: true, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &out})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); ok {
			a.Code = exit.Code
		} else if err != nil {
			t.Fatal(err)
		}
		a.Text = out.String()
		return a
	}
}

// realKubectl is the kubectl in PATH, of the cluster that VNFKIT_KUBECONFIG names.
func realKubectl(t *testing.T, kubeconfig string) kubectlRun {
	t.Helper()
	cleanUp := func() {
		for _, object := range []string{"configmap/asked", "configmap/second"} {
			out, err := exec.Command("kubectl", "delete", "--ignore-not-found", object, "--kubeconfig="+kubeconfig).CombinedOutput() //nolint:gosec,noctx // of the test
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
		}
	}
	cleanUp()
	t.Cleanup(cleanUp)
	return func(t *testing.T, stdin string, args ...string) (a kubectlAnswer) {
		t.Helper()
		var out bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "kubectl", append(args, "--kubeconfig="+kubeconfig)...) //nolint:gosec // of the test
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &out
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return kubectlAnswer{cmd.ProcessState.ExitCode(), out.String()}
	}
}

// TestKubectlContract asks the simulated kubectl, and the real one for the cluster that VNFKIT_KUBECONFIG names, the same.
func TestKubectlContract(t *testing.T) {
	t.Parallel()
	runs := map[string]kubectlRun{"simulation": simulatedKubectl(t)}
	if kubeconfig := os.Getenv("VNFKIT_KUBECONFIG"); kubeconfig != "" {
		runs["kubectl"] = realKubectl(t, kubeconfig)
	}
	for name, run := range runs {
		t.Run(name, func(t *testing.T) {
			for _, q := range kubectlQuestions {
				if got := run(t, q.stdin, strings.Fields(q.args)...); got.Code != q.code || !strings.Contains(got.Text, q.text) {
					t.Errorf("%s <<< %q: %+v, want %d and %q", q.args, q.stdin, got, q.code, q.text)
				}
			}
		})
	}
}

var kubectlQuestions = []struct {
	args, stdin string
	code        int
	text        string // a part of the output
}{
	{"frob", "", 1, "unknown command"},
	{"get node nowhere", "", 1, `nodes "nowhere" not found`},
	{"delete node nowhere", "", 1, `nodes "nowhere" not found`},
	{"drain nowhere --force --ignore-daemonsets --delete-emptydir-data", "", 1, `nodes "nowhere" not found`},
	{"apply --frob", "", 1, "unknown flag: --frob"},
	{"apply", "", 1, "must specify one of -f and -k"},
	{"apply -f /nowhere.yaml", "", 1, `the path "/nowhere.yaml" does not exist`},
	{"apply -f -", "---\n---\n", 1, "no objects passed to apply"},
	{"apply -f -", "a: [", 1, "yaml: line 1"},
	{"apply -f -", "just text", 1, "invalid object"},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap}", 1, "resource name may not be empty"},
	{"apply -f -", "{apiVersion: v1, kind: Nothing, metadata: {name: asked}}", 1, `no matches for kind "Nothing" in version "v1"`},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked, namespace: nowhere}}", 1, `namespaces "nowhere" not found`},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, wrong: 1}", 1, "wrong"},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, data: {a: one, b: one}}", 0, "configmap/asked "},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, data: {a: two}}", 0, "configmap/asked "},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: nowhere}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: second}}", 1, "configmap/second "},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: second}}\n---\na: [", 1, "configmap/second "},
}
