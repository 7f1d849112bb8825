package claims_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/helmclient/internal/claims"
)

func TestKeep(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ manifest, want string }{
		"no claim":        {"---\n# Source: a.yaml\nkind: ConfigMap\napiVersion: v1\n", ""},
		"empty":           {"", ""},
		"kept already":    {"apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, annotations: {helm.sh/resource-policy: keep}}\n", ""},
		"of another kind": {"apiVersion: example.com/v1\nkind: PersistentVolumeClaim\nmetadata: {name: a}\n", ""},
		"volume":          {"{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}}\n", ""},
		"claim": {"---\n# Source: a.yaml\nkind: ConfigMap # as it is\napiVersion: v1\n---\n# Source: b.yaml\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: a, annotations: {b: c}}\n",
			"---\n# Source: a.yaml\nkind: ConfigMap # as it is\napiVersion: v1\n" +
				"---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  annotations:\n    b: c\n    helm.sh/resource-policy: keep\n  name: a\n"},
		"list": {"apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b}}\n",
			"---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n---\napiVersion: v1\nkind: PersistentVolumeClaim\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n  name: b\n"},
		"namespaces": {"{apiVersion: v1, kind: Namespace, metadata: {name: a}}\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n---\n" +
			"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: a, annotations: {helm.sh/resource-policy: keep}}}\n",
			"---\napiVersion: v1\nkind: Namespace\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n  name: a\n" +
				"---\n{apiVersion: v1, kind: Namespace, metadata: {name: b}}\n---\n" +
				"{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c, namespace: a, annotations: {helm.sh/resource-policy: keep}}}\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, changed, err := claims.Keep{Claims: true}.In(c.manifest)
			if err != nil || changed != (c.want != "") {
				t.Fatal(changed, err)
			}
			if diff := cmp.Diff(c.want, got); changed && diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestKeepVolumes(t *testing.T) {
	t.Parallel()
	const manifest = "---\n{apiVersion: v1, kind: PersistentVolume, metadata: {name: a}}\n---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b}}\n"
	got, changed, err := claims.Keep{Volumes: true}.In(manifest)
	const want = "---\napiVersion: v1\nkind: PersistentVolume\nmetadata:\n  annotations:\n    helm.sh/resource-policy: keep\n  name: a\n" +
		"---\n{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: b}}\n"
	if diff := cmp.Diff(want, got); diff != "" || !changed || err != nil {
		t.Error(diff, changed, err)
	}
	if got, changed, err := (claims.Keep{}).In(manifest); got != manifest || changed || err != nil {
		t.Error(got, changed, err)
	}
}
