package archtest_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// grammar is the package for the grammar of --set, the only package of Helm that helmclient/helmcli links.
const grammar = "helm.sh/helm/v3/pkg/strvals"

// helmVersions lists the versions of Helm that a package links, beside the grammar.
func helmVersions(p pkg) []string {
	var out []string
	for _, path := range p.Deps {
		for _, version := range []string{"helm.sh/helm/v3", "helm.sh/helm/v4"} {
			if within(path, version) && path != grammar && !slices.Contains(out, version) {
				out = append(out, version)
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestOneHelm: a program links one version of Helm, that of the package that it takes.
func TestOneHelm(t *testing.T) {
	want := map[string][]string{"helmclient/helmsdk": {"helm.sh/helm/v3"}, "helmclient/helm4sdk": {"helm.sh/helm/v4"}, "helmclient/helmcli": nil, "infra/kubernetes": nil}
	got := map[string][]string{}
	for _, p := range ours(t) {
		versions := helmVersions(p)
		if _, listed := want[p.short()]; listed {
			got[p.short()] = versions
		}
		if len(versions) > 1 {
			t.Errorf("%s links %q", p.short(), versions)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("versions of Helm: %s", diff)
	}
}
