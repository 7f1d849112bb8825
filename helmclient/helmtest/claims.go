package helmtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/helmclient"
)

// claimsChart has a claim and a hook.
func claimsChart() files {
	f := small()
	f["templates/claims.yaml"] = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: "{{ .Release.Name }}-data"}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`
	f["templates/hook.yaml"] = `
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-hook", annotations: {helm.sh/hook: "pre-upgrade,post-install"}}
`
	return f
}

func testKeptClaims(t *testing.T, s *suite) {
	n := s.name("claims")
	r := helmclient.Install{Name: n, Chart: given(pack(t, "claims", "1.0.0", claimsChart()))}
	r.DryRun = true
	hooks := s.install(t, r).Hooks
	if len(hooks) != 1 || !strings.Contains(hooks[0].Manifest, "claims-hook") || !slices.Equal(slices.Sorted(slices.Values(hooks[0].Events)), []string{"post-install", "pre-upgrade"}) {
		t.Errorf("hooks of the dry run: %v", hooks)
	}
	r.DryRun = false
	for range 2 { // the second installation takes the claims over
		s.install(t, r)
		before := s.get(t, claims, "claims-data")
		if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n, KeepClaims: true}); err != nil {
			t.Fatal(err)
		}
		if now := s.get(t, claims, "claims-data"); now == nil || now.GetUID() != before.GetUID() || now.GetDeletionTimestamp() != nil {
			t.Errorf("the claim: %v", now)
		}
		if s.get(t, configMaps, "claims-config") != nil {
			t.Error("other objects are left")
		}
	}
	s.install(t, r)
	named := []helmclient.Object{{APIVersion: "v1", Kind: "ConfigMap", Namespace: n.Namespace, Name: "claims-config"}}
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n, Keep: named}); err != nil {
		t.Fatal(err)
	}
	if s.get(t, configMaps, "claims-config") == nil {
		t.Error("the named object is deleted")
	}
	s.install(t, r)
	if err := s.Client.Uninstall(s.ctx, helmclient.Uninstall{Name: n}); err != nil {
		t.Fatal(err)
	}
	if now := s.get(t, claims, "claims-data"); now != nil && now.GetDeletionTimestamp() == nil {
		t.Error("the claim is not deleted")
	}
}
