package expose

import (
	"context"
	"encoding/json"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

// keep stores the part in the cluster, so that it can be restored on a replacement machine of the load balancer.
func (d *Driver) keep(ctx context.Context, op *vnflcm.Operation, part loadbalancer.Part) error {
	text, err := json.Marshal(part)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap",
		"metadata": map[string]any{
			"name": loadbalancer.StoredPrefix + op.InstanceID, "namespace": loadbalancer.StoredNamespace,
			"labels": map[string]any{loadbalancer.StoredLabel: loadbalancer.StoredLabelValue},
		},
		"data": map[string]any{loadbalancer.StoredKey: string(text)},
	}}
	// Server-side apply, so that the data of the cluster's driver in the same ConfigMap stays.
	return d.inCluster(ctx, op, func(ctx context.Context, all dynamic.ResourceInterface) error {
		_, err := all.Apply(ctx, object.GetName(), object, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
		return err
	})
}

// fieldManager owns the stored fields in server-side apply.
const fieldManager = "vnfkit-expose"

// announced returns the host keys of the load balancer that the driver of its cluster has stored beside the part.
func (d *Driver) announced(ctx context.Context, op *vnflcm.Operation) (keys []string) {
	err := d.inCluster(ctx, op, func(ctx context.Context, all dynamic.ResourceInterface) error {
		kept, err := all.Get(ctx, loadbalancer.StoredPrefix+op.InstanceID, metav1.GetOptions{})
		if err != nil {
			return err
		}
		text, _, err := unstructured.NestedString(kept.Object, "data", loadbalancer.StoredHostKeys)
		keys = strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) {
		op.Log.WarnContext(ctx, "the host key of the load balancer cannot be read from the cluster", "error", err)
	}
	return keys
}

// forget removes the stored part, unless it has ended with the cluster. It is the step "forget".
func (d *Driver) forget(ctx context.Context, op *vnflcm.Operation) error {
	if op.VIMGone {
		return nil
	}
	return d.do(ctx, op, "forget", func(ctx context.Context) error {
		return d.inCluster(ctx, op, func(ctx context.Context, all dynamic.ResourceInterface) error {
			err := all.Delete(ctx, loadbalancer.StoredPrefix+op.InstanceID, metav1.DeleteOptions{})
			if apierrors.IsNotFound(err) {
				err = nil
			}
			return err
		})
	})
}

// inCluster works on ConfigMaps. If the cluster does not allow that, it only logs a warning.
func (d *Driver) inCluster(ctx context.Context, op *vnflcm.Operation, do func(context.Context, dynamic.ResourceInterface) error) error {
	c, err := kubeaccess.Open(ctx, op.VIM, kubeaccess.Options{SSH: d.config.Pool, HostKeys: hostkeys.Of(op), Log: op.Log, Dial: d.config.Dial, Allow: d.config.Allow, Cluster: d.config.Cluster,
		Patience: d.config.Timeouts.Change, Waiting: func(ctx context.Context, reason error) { op.Report(ctx, "waiting: "+reason.Error()) }})
	if err != nil {
		return err
	}
	defer c.Close()
	all := c.Dynamic.Resource(configMaps).Namespace(loadbalancer.StoredNamespace)
	err = c.Do(ctx, func(ctx context.Context) error { return do(ctx, all) })
	if apierrors.IsForbidden(err) {
		op.Log.WarnContext(ctx, "the exposed ports cannot be stored in the cluster: they will be missing after the load balancer is healed", "error", err)
		return nil
	}
	return err
}
