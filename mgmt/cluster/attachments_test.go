package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// attach returns a manifest that attaches a volume to a node. A volume in the pod itself has no name.
func attach(name, node, volume string) string {
	source := "{persistentVolumeName: " + volume + "}"
	if volume == "" {
		source = "{inlineVolumeSpec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, csi: {driver: d, volumeHandle: h}}}"
	}
	return fmt.Sprintf("---\napiVersion: storage.k8s.io/v1\nkind: VolumeAttachment\nmetadata: {name: %s}\nspec: {attacher: d, nodeName: %s, source: %s}\n", name, node, source)
}

// claimed is a volume with a claim, and a pod on w2 that uses it.
func claimed(name, owner, volume string) string {
	return strings.NewReplacer("NAME", name, "OWNER", owner, "VOLUME", volume).Replace(`---
apiVersion: v1
kind: PersistentVolume
metadata: {name: NAME}
spec: {capacity: {storage: 1Gi}, accessModes: [ReadWriteOnce], nfs: {server: 10.0.0.9, path: /a}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME-data, namespace: default}
spec: {accessModes: [ReadWriteOnce], storageClassName: "", volumeName: NAME, resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: NAME, namespace: default, ownerReferences: [{apiVersion: apps/v1, kind: OWNER, name: o, uid: u, controller: true}]}
spec: {nodeName: w2, containers: [{name: c, image: c}], volumes: [{name: data, VOLUME}]}
`)
}

// TestWaitDetached: the wait is for volumes of the node only, and not for those whose pods stay there.
func TestWaitDetached(t *testing.T) {
	t.Parallel()
	s := newSite(t, "w2", "w3")
	s.apply(claimed("daemon", "DaemonSet", "persistentVolumeClaim: {claimName: daemon-data}") +
		claimed("scratch", "DaemonSet", "ephemeral: {volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}}") +
		attach("of-daemon", "w2", "daemon") + attach("of-scratch", "w2", "scratch") + attach("elsewhere", "w3", "pv-3") +
		attach("named", "w2", "pv-1") + attach("inline", "w2", ""))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.WaitDetached(ctx, "w2", func(string) { cancel() })
	want := "volumes are attached to node w2: VolumeAttachment inline, pv-1 (VolumeAttachment named)"
	if !errors.Is(err, cluster.ErrAttached) || !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v", err)
	}
	var reports []string
	err = s.WaitDetached(t.Context(), "w2", func(text string) {
		reports = append(reports, text)
		name := []string{"inline", "named"}[len(reports)-1]
		if err := s.Delete(t.Context(), "", "volumeattachment", name); err != nil {
			t.Error(err)
		}
	})
	if err != nil || len(reports) != 2 || !strings.HasSuffix(reports[1], "to node w2: pv-1 (VolumeAttachment named)") {
		t.Errorf("%v, %q", err, reports)
	}
}
