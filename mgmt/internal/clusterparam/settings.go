package clusterparam

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Settings are parameters of a cluster that an instantiate request may leave out. They are recorded with the instance, so
// that a program with other defaults does not change a running cluster.
type Settings struct {
	PodCIDR           string `json:"podCidr"`
	ClusterCIDR       string `json:"clusterCidr"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"` // kubeadm only
}

// Defaults are the settings of new clusters. Tacker's pod network 192.168.0.0/16 is not used, because it contains the
// networks of many sites.
var Defaults = Settings{PodCIDR: "10.244.0.0/16", ClusterCIDR: "10.96.0.0/12", KubernetesVersion: "1.36.3"}

// unrecorded are the settings of clusters made by releases that did not record settings.
var unrecorded = Settings{PodCIDR: "192.168.0.0/16", ClusterCIDR: "10.96.0.0/12", KubernetesVersion: "1.34.4"}

const settingsState = "cluster/settings"

// ReadSettings returns the values of parameters that a request leaves out: Defaults for a new cluster, otherwise the
// settings that were recorded when the cluster was created.
func ReadSettings(ctx context.Context, op *vnflcm.Operation) (Settings, error) {
	if op.Kind == vnflcm.OpInstantiate {
		return Defaults, nil
	}
	var made Settings
	err := op.State().Get(ctx, settingsState, &made)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return unrecorded, nil
	}
	return made, err
}

// Record stores the settings of a new cluster.
func (s Settings) Record(ctx context.Context, op *vnflcm.Operation) error {
	return op.State().Put(ctx, settingsState, s)
}
