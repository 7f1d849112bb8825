package kubernetes_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

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
