package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// runReadCluster describes the running cluster, as seen by the first control-plane node that answers.
func runReadCluster(ctx context.Context, e *environment, _ mgmt.Node) error {
	if err := e.checkScriptNames(); err != nil {
		return err
	}
	b, err := vnflcm.Run(ctx, e.op, vnflcm.Step[controlplane.Bootstrap]{Name: "cluster", Do: func(ctx context.Context) (controlplane.Bootstrap, error) {
		leader, err := e.kube.Leader(ctx)
		if err != nil {
			return controlplane.Bootstrap{}, err
		}
		warnOfEnd(ctx, e, leader)
		b, err := controlplane.Describe(ctx, leader, e.endpoint())
		if err == nil && e.p.ScriptPath == "" {
			b.Version, b.Kubelet, err = versionsToJoin(ctx, e)
		}
		return b, err
	}})
	e.running.Set("", b)
	return err
}

// versionsToJoin returns the version with which nodes join, and another one for their kubelets if an upgrade has not reached all API
// servers: a kubelet must not be newer than any of them. Then only lost nodes are replaced.
func versionsToJoin(ctx context.Context, e *environment) (version, kubelet string, err error) {
	stored, err := storedVersion(ctx, e)
	if err != nil {
		return "", "", err
	}
	servers, err := e.kube.StaticPodTags(ctx, controlplane.StaticAPIServer)
	oldest := stored
	for _, tag := range servers {
		if v, ok := kubeversion.OfTag(tag); ok && v.Compare(oldest) < 0 {
			oldest = v
		}
	}
	switch {
	case err != nil || oldest.Minor == stored.Minor:
		return stored.String(), "", err
	case e.op.Scale != nil:
		return "", "", fmt.Errorf("kubeadm: the upgrade to Kubernetes %s has not ended: an API server still has %s. End the upgrade, by a request for %s, before nodes are added", stored, oldest, stored)
	}
	e.op.Warn(ctx, fmt.Sprintf("the upgrade to Kubernetes %s has not ended: an API server still has %s, so new kubelets get this version", stored, oldest))
	return stored.String(), oldest.String(), nil
}

// clusterVersion reads the version of the control plane from kubeadm-config. "kubeadm upgrade" keeps it up to date, and
// "kubeadm join" requires nodes to have it.
func clusterVersion(ctx context.Context, e *environment) (string, error) {
	text, err := clusterConfiguration(ctx, e)
	if err != nil {
		return "", err
	}
	var config struct {
		KubernetesVersion string `yaml:"kubernetesVersion"`
	}
	if err := yaml.Unmarshal([]byte(text), &config); err != nil {
		return "", fmt.Errorf("kubeadm: the ConfigMap kubeadm-config: %w", err)
	}
	version := strings.TrimPrefix(config.KubernetesVersion, "v")
	if _, ok := kubeversion.Parse(version); !ok {
		return "", fmt.Errorf("kubeadm: the ConfigMap kubeadm-config has no version of Kubernetes, but %q", config.KubernetesVersion)
	}
	return version, nil
}

// clusterConfiguration reads the configuration of the cluster, which kubeadm keeps in the ConfigMap kubeadm-config.
func clusterConfiguration(ctx context.Context, e *environment) (controlplane.Configuration, error) {
	maps, err := e.kube.ConfigMaps(ctx, "kube-system", "")
	return controlplane.Configuration(maps["kubeadm-config"]["ClusterConfiguration"]), err
}

// runRecordSettings records the settings of the cluster for later operations.
func runRecordSettings(ctx context.Context, e *environment, _ mgmt.Node) error {
	if err := e.checkScriptNames(); err != nil {
		return err
	}
	settings := clusterparam.Settings{PodCIDR: e.p.Master.PodCIDR, ClusterCIDR: e.p.Master.ClusterCIDR, KubernetesVersion: e.p.KubernetesVersion}
	return errors.Join(noteEndpoint(ctx, e), settings.Record(ctx, e.op))
}
