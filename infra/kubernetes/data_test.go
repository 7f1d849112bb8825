package kubernetes_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// databaseObjects have data, in each form that a chart or a manifest can have; Helm's are completed by databaseChart.
const databaseObjects = `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: disk}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: precious, annotations: {helm.sh/resource-policy: keep}}
data: {a: b}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      volumes: [{name: disk, persistentVolumeClaim: {claimName: disk}}]
      containers: [{name: web, image: web, volumeMounts: [{name: disk, mountPath: /disk}]}]
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 1
  serviceName: db
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec: {containers: [{name: db, image: db}]}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: once}
spec:
  template:
    spec: {restartPolicy: Never, containers: [{name: once, image: job}]}
`

// databaseChart generates a password, and has a claim as a hook.
func databaseChart() members {
	return chart("database", databaseObjects, `apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: {{ randAlphaNum 20 | quote }}}
`, `apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: hooked, annotations: {helm.sh/hook: pre-install, helm.sh/resource-policy: keep}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`)
}

const databaseByChart = `{"use_helm": true, "namespace": "data", "using_helm_install_param": [{"exthelmchart": false, "helmchartfile_path": "Files/database.tgz", "helmreleasename": "r"}],
	"vdu_mapping": {"WEB": {"kind": "Deployment", "name": "web"}, "DB": {"kind": "StatefulSet", "name": "db"}}}`

const databaseByManifest = `{"namespace": "data", "lcm-kubernetes-def-files": ["Files/database.yaml"]}`

// database makes the VNF.
func database(t *testing.T, kind, params string, change ...func(*kubernetes.Config)) *lab {
	t.Helper()
	l := newLab(t, kind)
	l.files["Files/database.yaml"] = &fstest.MapFile{Data: []byte(databaseObjects)}
	l.files["Files/database.tgz"] = &fstest.MapFile{Data: databaseChart().pack(t)}
	l.Manager = l.start(change...)
	l.instantiate("simple", params)
	return l
}

// identities are the UIDs of objects by resource/name, and the data of Secrets.
func (l *lab) identities(kinds ...string) map[string]string {
	l.t.Helper()
	out := map[string]string{}
	for _, kind := range kinds {
		for _, o := range l.list("data", kind) {
			if o.GetLabels()["owner"] != "helm" {
				out[kind+"/"+o.GetName()] = fmt.Sprint(o.GetUID(), o.Object["data"])
			}
		}
	}
	return out
}

// warnings are those of the document of the last operation.
func (l *lab) warnings() []string {
	l.t.Helper()
	ops, err := l.Operations(l.t.Context(), vnflcm.OperationQuery{InstanceID: l.id})
	if err != nil || len(ops.Items) == 0 {
		l.t.Fatal(err)
	}
	last := slices.MaxFunc(ops.Items, func(a, b *vnflcm.VnfLcmOpOcc) int { return a.StartTime.Compare(b.StartTime) })
	return last.Warnings
}

// TestTerminateLeavesData: claims go only with delete_pvc. What stays is named, and so is its namespace.
func TestTerminateLeavesData(t *testing.T) {
	t.Parallel()
	helms := []func(*kubernetes.Config){helmVersions["Helm 3"], helmVersions["Helm 4"]}
	for name, c := range map[string]struct {
		kind, params, terminate string
		left, marked            []string
	}{
		"chart":             {kubernetes.VimTypeV1, databaseByChart, `{}`, []string{"ConfigMap data/precious", "Namespace data", "PersistentVolumeClaim data/disk", "PersistentVolumeClaim data/hooked"}, []string{"stray object Namespace data"}},
		"chart, delete_pvc": {kubernetes.VimTypeV1, databaseByChart, `{"delete_pvc": true}`, []string{"ConfigMap data/precious", "Namespace data"}, []string{"stray object Namespace data"}},
		"manifests": {kubernetes.VimTypeV2, databaseByManifest, `{}`, []string{"ConfigMap data/precious", "Namespace data", "PersistentVolumeClaim data/disk"},
			[]string{"kept object Namespace data", "kept object PersistentVolumeClaim data/disk", "stray object ConfigMap data/precious"}},
		"manifests, delete_pvc": {kubernetes.VimTypeV2, databaseByManifest, `{"delete_pvc": true}`, []string{"ConfigMap data/precious", "Namespace data"},
			[]string{"stray object ConfigMap data/precious", "stray object Namespace data"}},
	} {
		for i, helm := range helms {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				t.Parallel()
				l := database(t, c.kind, c.params, helm)
				claims := l.identities("persistentvolumeclaims")
				l.terminate(vnflcm.TerminateGraceful, c.terminate)
				if diff := cmp.Diff([]string{"left on the cluster: " + strings.Join(c.left, ", ")}, l.warnings()); diff != "" {
					t.Error(diff)
				}
				now := l.identities("persistentvolumeclaims")
				for _, claim := range []string{"disk", "hooked"} {
					name := "persistentvolumeclaims/" + claim
					if want := slices.Contains(c.left, "PersistentVolumeClaim data/"+claim); want && claims[name] != now[name] || !want && now[name] != "" {
						t.Errorf("claim %s was %q and is %q", claim, claims[name], now[name])
					}
				}
				if left := l.objects("data", "deployments", "statefulsets", "pods", "services"); len(left) > 0 {
					t.Errorf("left: %v", left)
				}
				list, err := l.DiagnoseAll(t.Context())
				if diff := cmp.Diff(c.marked, findings(t, list, err)); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// boundVolume has a volume that a claim of the same VNF is bound to, and a free one.
const boundVolume = `apiVersion: v1
kind: PersistentVolume
metadata: {name: place}
spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: local, hostPath: {path: /data}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: spare}
spec: {capacity: {storage: 2Gi}, accessModes: [ReadWriteOnce], storageClassName: other, hostPath: {path: /spare}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: place}
spec: {accessModes: [ReadWriteOnce], storageClassName: local, resources: {requests: {storage: 1Gi}}}
---
`

// TestTerminateLeavesVolumes: Kubernetes deletes a PersistentVolume only after its claim. A termination does not wait for the volume
// of a claim that stays.
func TestTerminateLeavesVolumes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		kind, params, terminate string
		left                    []string
	}{
		"chart":                 {kubernetes.VimTypeV1, databaseByChart, `{}`, []string{"place"}},
		"chart, delete_pvc":     {kubernetes.VimTypeV1, databaseByChart, `{"delete_pvc": true}`, nil},
		"manifests":             {kubernetes.VimTypeV2, databaseByManifest, `{}`, []string{"place"}},
		"manifests, delete_pvc": {kubernetes.VimTypeV2, databaseByManifest, `{"delete_pvc": true}`, nil},
	} {
		for i, version := range []string{"Helm 3", "Helm 4"} {
			if c.kind == kubernetes.VimTypeV2 && i > 0 {
				continue // manifests need no Helm
			}
			t.Run(name+", "+version, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, c.kind)
				l.files["Files/database.yaml"] = &fstest.MapFile{Data: []byte(boundVolume + databaseObjects)}
				l.files["Files/database.tgz"] = &fstest.MapFile{Data: chart("database", boundVolume+databaseObjects).pack(t)}
				l.Manager = l.start(helmVersions[version])
				l.instantiate("simple", c.params)
				l.terminate(vnflcm.TerminateForceful, c.terminate)
				var left []string
				for _, o := range l.list("", "persistentvolumes") {
					if o.GetDeletionTimestamp() != nil {
						t.Errorf("%s is being deleted", o.GetName())
					}
					left = append(left, o.GetName())
				}
				if diff := cmp.Diff(c.left, left); diff != "" {
					t.Error("volumes", diff)
				}
				if named := strings.Contains(fmt.Sprint(l.warnings()), "PersistentVolume place"); named != (c.left != nil) {
					t.Errorf("warnings: %v", l.warnings())
				}
			})
		}
	}
}

// TestTerminateLeavesNothing: with no claim and nothing to keep the namespace is deleted, and there is no warning.
func TestTerminateLeavesNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	l.instantiate("simple", twoReleases)
	l.terminate(vnflcm.TerminateForceful, `{"delete_pvc": true}`)
	if text := l.warnings(); len(text) > 0 || slices.Contains(l.objects("", "namespaces"), "namespaces/shop") {
		t.Errorf("warnings %v", text)
	}
}
