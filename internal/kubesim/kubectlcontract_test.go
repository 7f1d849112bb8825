package kubesim_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// kubectlRun runs kubectl as the administrator of a cluster.
type kubectlRun func(t *testing.T, stdin string, args ...string) kubectlAnswer

type kubectlAnswer struct {
	Code        int
	Out, Errors string
}

// simulatedKubectl is the kubectl of a simulated control-plane node.
func simulatedKubectl(t *testing.T) kubectlRun {
	t.Helper()
	s := newSite(t, "m1")
	s.cluster()
	return func(t *testing.T, stdin string, args ...string) (a kubectlAnswer) {
		t.Helper()
		var out, errs bytes.Buffer
		argv := slices.Concat([]string{"kubectl"}, args, []string{"--kubeconfig=/etc/kubernetes/admin.conf"})
		err := s.host("m1").Exec(t.Context(), sshexec.Command{Argv: argv, Root: true, Stdin: strings.NewReader(stdin), Stdout: &out, Stderr: &errs})
		if exit, ok := errors.AsType[*sshexec.ExitError](err); ok {
			a.Code = exit.Code
		} else if err != nil {
			t.Fatal(err)
		}
		a.Out, a.Errors = out.String(), errs.String()
		return a
	}
}

// realKubectl is the kubectl in PATH, of the cluster that VNFKIT_KUBECONFIG names.
func realKubectl(t *testing.T, kubeconfig string) kubectlRun {
	t.Helper()
	cleanUp := func() {
		for _, object := range []string{"configmap/asked", "configmap/second", "deployment/asked", "clusterrole/asked-of-kubectl"} {
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
		var out, errs bytes.Buffer
		cmd := exec.CommandContext(t.Context(), "kubectl", append(args, "--kubeconfig="+kubeconfig)...) //nolint:gosec // of the test
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
		if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return kubectlAnswer{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
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
				if diff := cmp.Diff(q.want, run(t, q.stdin, strings.Fields(q.args)...)); diff != "" {
					t.Errorf("%s <<< %q\n%s", q.args, q.stdin, diff)
				}
			}
		})
	}
}

// said is the answer of a kubectl that succeeds, failed that of one that does not.
func said(out string) kubectlAnswer    { return kubectlAnswer{Out: out} }
func failed(errs string) kubectlAnswer { return kubectlAnswer{Code: 1, Errors: errs + "\n"} }

// invalidObject is the error of an object that kubectl does not send.
func invalidObject(reason string) kubectlAnswer {
	return failed(`error: error validating "STDIN": error validating data: ` + reason + `; if you choose to ignore these errors, turn validation off with --validate=false`)
}

var kubectlQuestions = []struct {
	args, stdin string
	want        kubectlAnswer
}{
	{"frob", "", failed(`error: unknown command "frob" for "kubectl"`)},
	{"get node nowhere", "", failed(`Error from server (NotFound): nodes "nowhere" not found`)},
	{"delete node nowhere", "", failed(`Error from server (NotFound): nodes "nowhere" not found`)},
	{"drain nowhere --force --ignore-daemonsets --delete-emptydir-data", "", failed(`Error from server (NotFound): nodes "nowhere" not found`)},
	{"apply --frob", "", failed("error: unknown flag: --frob\nSee 'kubectl apply --help' for usage.")},
	{"apply", "", failed("error: must specify one of -f and -k")},
	{"apply -f /nowhere.yaml", "", failed(`error: the path "/nowhere.yaml" does not exist`)},
	{"apply -f -", "", failed("error: no objects passed to apply")},
	{"apply -f -", "---\n---\n", failed("error: no objects passed to apply")},
	{"apply -f -", "a: [", failed("error: error parsing STDIN: error converting YAML to JSON: yaml: line 1: did not find expected node content")},
	{"apply -f -", "just text", invalidObject("invalid object to validate")},
	{"apply -f -", "{apiVersion: v1, metadata: {name: asked}}", invalidObject("kind not set")},
	{"apply -f -", "{kind: ConfigMap, metadata: {name: asked}}", invalidObject("apiVersion not set")},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap}", failed("error: error when retrieving current configuration of:\n" +
		`Resource: "/v1, Resource=configmaps", GroupVersionKind: "/v1, Kind=ConfigMap"` + "\nName: \"\", Namespace: \"default\"\nfrom server for: \"STDIN\": resource name may not be empty")},
	{"apply -f -", "{apiVersion: v1, kind: Nothing, metadata: {name: asked}}",
		failed(`error: resource mapping not found for name: "asked" namespace: "" from "STDIN": no matches for kind "Nothing" in version "v1"` + "\nensure CRDs are installed first")},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked, namespace: nowhere}}",
		failed(`Error from server (NotFound): error when creating "STDIN": namespaces "nowhere" not found`)},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, wrong: 1}",
		failed(`Error from server (BadRequest): error when creating "STDIN": ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "wrong"`)},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, data: {a: one, b: one}}", said("configmap/asked created\n")},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, data: {a: one, b: one}}", said("configmap/asked unchanged\n")},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: asked}, data: {a: two}}", said("configmap/asked configured\n")},
	{"apply -f -", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: asked}, spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: c, image: c}]}}}}",
		said("deployment.apps/asked created\n")},
	{"apply -f -", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: asked-of-kubectl}, rules: []}",
		said("clusterrole.rbac.authorization.k8s.io/asked-of-kubectl created\n")},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: second, namespace: nowhere}}\n---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: second}}",
		kubectlAnswer{1, "configmap/second created\n", "Error from server (NotFound): error when creating \"STDIN\": namespaces \"nowhere\" not found\n"}},
	{"apply -f -", "{apiVersion: v1, kind: ConfigMap, metadata: {name: second}}\n---\na: [",
		kubectlAnswer{1, "configmap/second unchanged\n", "error: error parsing STDIN: error converting YAML to JSON: yaml: line 1: did not find expected node content\n"}},
}
