package clusterparam

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Settings are what a cluster is made with, where an instantiate request may leave it to the program. They are recorded, so that a
// program with other defaults does not change a cluster that runs.
type Settings struct {
	PodCIDR           string `json:"podCidr"`
	ClusterCIDR       string `json:"clusterCidr"`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"` // kubeadm only
}

// Defaults are the settings of new clusters. The pod network is not Tacker's 192.168.0.0/16, which contains the networks of many
// sites.
var Defaults = Settings{PodCIDR: "10.244.0.0/16", ClusterCIDR: "10.96.0.0/12", KubernetesVersion: "1.35.4"}

// unrecorded are the defaults of the releases that did not record settings.
var unrecorded = Settings{PodCIDR: "192.168.0.0/16", ClusterCIDR: "10.96.0.0/12", KubernetesVersion: "1.34.4"}

const settingsState = "cluster/settings"

// ReadSettings returns what a request of the operation need not say: Defaults for a new cluster, otherwise what the cluster was made
// with.
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

// Record stores what the cluster is made with.
func (s Settings) Record(ctx context.Context, op *vnflcm.Operation) error {
	return op.State().Put(ctx, settingsState, s)
}
