package docs_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestKubesprayParameters wants every parameter that the driver decodes in the tables of kubespray.md, and no other.
func TestKubesprayParameters(t *testing.T) {
	types := parameterTypes(t)
	var inside, beside []string
	for _, path := range types.paths("kubespray", "", types["kubespray.parameters"]) {
		if name, ok := strings.CutPrefix(path, "k8s_cluster_installation_param."); ok {
			inside = append(inside, name)
		} else {
			beside = append(beside, path)
		}
	}
	slices.Sort(inside)
	slices.Sort(beside)
	if len(inside) < 30 {
		t.Errorf("only %d parameters found: are they elsewhere now?", len(inside))
	}
	if diff := cmp.Diff(inside, columns(t, "kubespray.md", "| path | required | default |")); diff != "" {
		t.Errorf("parameters (-code +kubespray.md):\n%s", diff)
	}
	if diff := cmp.Diff(beside, columns(t, "kubespray.md", "| path | meaning | from |")); diff != "" {
		t.Errorf("parameters beside the object (-code +kubespray.md):\n%s", diff)
	}
}
