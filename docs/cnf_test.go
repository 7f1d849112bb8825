package docs_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

const cnfGuide = "cnf.md"

// TestCNFParameters wants every parameter that the driver decodes in the tables of cnf.md, and no other.
func TestCNFParameters(t *testing.T) {
	types := parameterTypes(t)
	inside := types.paths("kubernetes", "", types["kubernetes.params"])
	slices.Sort(inside)
	if len(inside) < 20 {
		t.Errorf("only %d parameters found: are they elsewhere now?", len(inside))
	}
	shown := slices.Concat(columns(t, cnfGuide, "| parameter | required | meaning |"), columns(t, cnfGuide, "| parameter | request | meaning |"))
	shown = slices.DeleteFunc(shown, func(name string) bool { // objects are shown with what is in them
		return slices.ContainsFunc(shown, func(other string) bool {
			return strings.HasPrefix(other, name+"[].") || strings.HasPrefix(other, name+".*.")
		})
	})
	slices.Sort(shown)
	if diff := cmp.Diff(inside, shown); diff != "" {
		t.Errorf("parameters (-code +cnf.md):\n%s", diff)
	}
}

// TestCNFExamples: what cnf.md shows are the requests of the sample packages, which are tried elsewhere, or a part of them.
func TestCNFExamples(t *testing.T) {
	var shown []string
	for _, block := range strings.Split(document(t, cnfGuide), "```json\n")[1:] {
		text, _, _ := strings.Cut(block, "```")
		shown = append(shown, text)
	}
	requests := []string{"cnf-mciop/requests/instantiate.json", "cnf/requests/instantiate_chart.json", "cnf/requests/instantiate_repository.json",
		"cnf/requests/instantiate_v2.json", "cnf/requests/instantiate_manifests.json"}
	if len(shown) != len(requests) {
		t.Fatalf("%d examples for the requests %q", len(shown), requests)
	}
	for i, name := range requests {
		data, err := os.ReadFile("../examples/packages/" + name)
		check(t, err)
		var request vnflcm.InstantiateVnfRequest
		_, err = vnflcm.DecodeRequest(data, &request)
		check(t, err)
		var example, whole map[string]any
		check(t, json.Unmarshal([]byte(shown[i]), &example))
		check(t, json.Unmarshal(request.AdditionalParams.Reveal(), &whole))
		if diff := missing(example, whole); len(diff) > 0 {
			t.Errorf("%s says otherwise than cnf.md: %q", name, diff)
		}
	}
}

// missing lists what of an example is not the same in a request, which may hold more.
func missing(example, whole map[string]any) (out []string) {
	for name, value := range example {
		a, b := value, whole[name]
		if list, ok := a.([]any); ok && len(list) == 1 {
			other, _ := b.([]any)
			if inner, isObject := list[0].(map[string]any); isObject && len(other) == 1 {
				o, _ := other[0].(map[string]any)
				out = append(out, missing(inner, o)...)
				continue
			}
		}
		if diff := cmp.Diff(b, a); diff != "" {
			out = append(out, name+": "+diff)
		}
	}
	return out
}
