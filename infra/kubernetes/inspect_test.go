package kubernetes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// findings returns kind, resource and id of findings.
func findings(t *testing.T, list []vnflcm.Finding, err error) (out []string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		out = append(out, strings.Join([]string{string(f.Kind), f.Resource, f.ID}, " "))
	}
	return out
}

func (l *lab) diagnosed() []string {
	l.t.Helper()
	list, err := l.Diagnose(l.t.Context(), l.id)
	return findings(l.t, list, err)
}

// TestInspectReleases finds a release that another client has uninstalled, and one of another client in its place.
func TestInspectReleases(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	if got := l.diagnosed(); len(got) > 0 {
		t.Fatalf("nothing was changed: %v", got)
	}
	web := helmclient.Name{Namespace: "shop", Release: "w1"}
	if err := l.helm.Uninstall(t.Context(), helmclient.Uninstall{Name: web}); err != nil {
		t.Fatal(err)
	}
	if got := l.diagnosed(); !slices.Contains(got, "missing release shop/w1") || !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, "missing object Deployment shop/") }) {
		t.Errorf("the release was uninstalled: %v", got)
	}
	l.cluster.ExpireToken()
	if got := l.diagnosed(); len(got) == 0 || !strings.HasPrefix(got[0], "unknown resources") {
		t.Errorf("the cluster refuses the token: %v", got)
	}
}

// TestInspectManifests finds an object that was deleted, and what remains of instances without a record.
func TestInspectManifests(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", plainParams)
	if got := l.diagnosed(); len(got) > 0 {
		t.Fatalf("nothing was changed: %v", got)
	}
	services := l.list("shop", "services")
	if len(services) == 0 {
		t.Fatal("the manifest has no service")
	}
	if err := l.dynamic.Resource(resources["services"]).Namespace("shop").Delete(t.Context(), services[0].GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"missing object Service shop/" + services[0].GetName()}, l.diagnosed()); diff != "" {
		t.Error(diff)
	}
	if _, err := l.Abandon(t.Context(), l.id); err != nil {
		t.Fatal(err)
	}
	list, err := l.DiagnoseAll(t.Context())
	if got := findings(t, list, err); !slices.ContainsFunc(got, func(text string) bool { return strings.HasPrefix(text, "stray object Deployment shop/") }) || list[0].InstanceID != l.id {
		t.Errorf("of an abandoned instance: %+v", list)
	}
}

// TestMarkedReleases finds releases of an instance without a record.
func TestMarkedReleases(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	l.scale(vnflcm.ScaleOut, "webs", 1) // a second revision
	if _, err := l.Abandon(t.Context(), l.id); err != nil {
		t.Fatal(err)
	}
	list, err := l.DiagnoseAll(t.Context())
	if diff := cmp.Diff([]string{"stray release shop/d1", "stray release shop/w1"}, slices.DeleteFunc(findings(t, list, err), func(text string) bool {
		return strings.HasPrefix(text, "stray object Namespace") // the driver has created it
	})); diff != "" {
		t.Error(diff)
	}
}
