package kubernetes_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// refused returns the error of an instantiation that is refused before an operation begins.
func (l *lab) refused(params string) error {
	l.t.Helper()
	_, err := l.Instantiate(l.t.Context(), l.id, l.request("simple", params))
	if !errors.Is(err, vnflcm.ErrInvalidRequest) {
		l.t.Fatalf("it is not refused: %v", err)
	}
	return err
}

// TestTooManyVDUs: the objects of a package are not compared with any number of VDUs.
func TestTooManyVDUs(t *testing.T) {
	t.Parallel()
	var vdus, manifest strings.Builder
	for i := range 1001 {
		vdus.WriteString(podVDU(fmt.Sprintf("v%d", i), "name: x"))
		fmt.Fprintf(&manifest, "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c%d}\n", i)
	}
	l := newLabOf(t, kubernetes.VimTypeV2, cnfd(vdus.String(), map[string][]byte{"Files/m.yaml": []byte(manifest.String())}))
	err := l.refused(`{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/m.yaml"]}`)
	if want := `flavourId: "simple": has 1001 VDUs, and its charts or manifests 1001 objects: too many to compare`; !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}

// TestShortWarnings: a warning names a few of many workloads and VDUs.
func TestShortWarnings(t *testing.T) {
	t.Parallel()
	var vdus, manifest strings.Builder
	for i := range 15 {
		vdus.WriteString(podVDU(fmt.Sprintf("v%02d", i), "name: same"))
	}
	vdus.WriteString(podVDU("other", "name: Other"))
	manifest.WriteString(templateOf("Deployment", "same", ""))
	for i := range 15 {
		manifest.WriteString("---\n" + templateOf("Deployment", fmt.Sprintf("d%02d", i), "app: other"))
	}
	l := newLabOf(t, kubernetes.VimTypeV2, cnfd(vdus.String(), map[string][]byte{"Files/m.yaml": []byte(manifest.String())}))
	op := l.instantiated(`{"namespace": "shop", "lcm-kubernetes-def-files": ["Files/m.yaml"]}`)
	for _, text := range op.Warnings {
		if strings.Count(text, "v0")+strings.Count(text, "v1") > 11 || strings.Count(text, "Deployment shop/d") > 10 || len(op.Warnings) > 20 {
			t.Errorf("%d warnings, one is %s", len(op.Warnings), text)
		}
	}
	if all := strings.Join(op.Warnings, "\n"); !strings.Contains(all, "v08 and v09 and 5 more") || !strings.Contains(all, "Deployment shop/d09 and 5 more") {
		t.Error(all)
	}
}

// TestMCIOPsOfOneRelease: a package whose MCIOPs have one name of a release is refused.
func TestMCIOPsOfOneRelease(t *testing.T) {
	t.Parallel()
	archive := chart("web", webDeployment).pack(t)
	twin := fmt.Sprintf("a-b-%x", sha256.Sum256([]byte("a_b")))[:len("a-b-")+6]
	nodes := podVDU("WEB", "name: web")
	for _, id := range []string{"a_b", twin} {
		nodes += "    " + id + ": {type: tosca.nodes.nfv.Mciop, requirements: [associatedVdu: WEB], artifacts: {c: {type: tosca.artifacts.nfv.HelmChart, file: web.tgz}}}\n"
	}
	got, err := faultsIn(t, cnfd(nodes, map[string][]byte{"web.tgz": archive}), nowhere(t), kubernetes.VimTypeV1, "simple", `{}`, `{}`)
	if diff := cmp.Diff([]string{"flavourId"}, got); diff != "" || !strings.Contains(fmt.Sprint(err), "the MCIOP "+twin+", whose release has the name of another one") {
		t.Errorf("%v\n%s", err, diff)
	}
}

// aspectOfV1 is an aspect of the VDU V1.
const aspectOfV1 = `  policies:
    - aspects: {type: tosca.policies.nfv.ScalingAspects, properties: {aspects: {more: {name: more, description: more, max_scale_level: 3, step_deltas: [one]}}}}
    - initial: {type: tosca.policies.nfv.VduInitialDelta, targets: [V1], properties: {initial_delta: {number_of_instances: 1}}}
    - deltas: {type: tosca.policies.nfv.VduScalingAspectDeltas, targets: [V1], properties: {aspect: more, deltas: {one: {number_of_instances: 1}}}}
`

// TestMappedDaemonSet: a VDU that vdu_mapping gives a DaemonSet is instantiated, and its aspect cannot be scaled.
func TestMappedDaemonSet(t *testing.T) {
	t.Parallel()
	agent := strings.Replace(templateOf("DaemonSet", "agent", ""), "  replicas: 1\n", "", 1)
	l := newLabOf(t, kubernetes.VimTypeV1, cnfd(podVDU("V1", "name: V")+aspectOfV1, map[string][]byte{"core.tgz": chart("core", agent).pack(t)}))
	l.instantiated(fmt.Sprintf(coreRelease, `, "vdu_mapping": {"V1": {"kind": "DaemonSet", "name": "agent"}}`))
	_, err := l.Scale(t.Context(), l.id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "more"})
	if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), "but as DaemonSet shop/agent") {
		t.Error(err)
	}
}

// TestVDUsBesideGeneratedNames: objects whose names the API server generates do not keep the VDUs of a chart from being checked.
func TestVDUsBesideGeneratedNames(t *testing.T) {
	t.Parallel()
	const hook = "apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: prepare-, annotations: {helm.sh/hook: pre-install}}\n" +
		"spec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: c}]}}}\n"
	l := newLabOf(t, kubernetes.VimTypeV1, cnfd(podVDU("a", "name: A"), map[string][]byte{"core.tgz": chart("core", templateOf("Deployment", "x", ""), hook).pack(t)}))
	err := l.refused(fmt.Sprintf(coreRelease, `, "vdu_mapping": {"a": {"kind": "Deployment", "name": "y"}}`))
	if want := "is not made by the charts or manifests: the workloads are Deployment shop/x"; !strings.Contains(err.Error(), want) {
		t.Error(err)
	}
}
