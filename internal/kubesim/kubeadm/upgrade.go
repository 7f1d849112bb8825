package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// manifests is the directory of static pods; saved is where kubeadm moves the manifests that it replaces.
const (
	manifests = directory + "manifests/"
	saved     = directory + "tmp/kubeadm-backup-"
)

// upgradeOptions are what "kubeadm upgrade apply" and "kubeadm upgrade node" were told.
type upgradeOptions struct {
	yes, dryRun bool
	ignore      []string
	patches     string // folder
}

func (c *call) readUpgrade(args []string) (o upgradeOptions, rest []string, err error) {
	rest, err = c.Flags(args, func(f *pflag.FlagSet) {
		f.BoolVarP(&o.yes, "yes", "y", false, "")
		f.BoolVar(&o.dryRun, "dry-run", false, "")
		f.StringSliceVar(&o.ignore, "ignore-preflight-errors", nil, "")
		f.StringVar(&o.patches, "patches", "", "")
	})
	return o, rest, err
}

// upgradeApply upgrades the first control-plane node and what the cluster stores.
func (c *call) upgradeApply(ctx context.Context, args []string) error {
	o, rest, err := c.readUpgrade(args)
	if err != nil || len(rest) != 1 {
		return errors.Join(err, errors.New("kubesim: upgrade apply takes one version"))
	}
	if !o.yes && !o.dryRun {
		return errors.New("error: won't proceed; the user didn't answer (Y|y) in order to continue")
	}
	version := strings.TrimPrefix(rest[0], "v")
	u, err := c.customizeUpgrade(o, func(cl *Cluster, m Machine) error { return c.mayApply(cl, m, version) })
	if err != nil || o.dryRun {
		return err
	}
	if err := c.admin(func(cl *Cluster, m Machine) error {
		return errors.Join(c.hasImages(m, cl.settings(), version, o.ignore), cl.allows37(version))
	}); err != nil {
		return err
	}
	if err := c.replaceStaticPods(ctx, version, u); err != nil {
		return err
	}
	err = c.admin(func(cl *Cluster, _ Machine) error {
		if cl.Applied == nil {
			cl.Applied = map[string]string{}
		}
		cl.Version, cl.Applied[version] = version, c.w.ID()
		return cl.uploadVersion()
	})
	if err == nil {
		err = program.Pause(ctx, c.w.Takes()/8)
	}
	if err == nil {
		err = c.admin(func(cl *Cluster, _ Machine) error { return c.upgradeAddons(cl) })
	}
	if err == nil {
		c.Printf("[upgrade] SUCCESS! A control plane node of your cluster was upgraded to \"v%s\".\n", version)
	}
	return err
}

// customizeUpgrade reads the settings of the user after a check.
func (c *call) customizeUpgrade(o upgradeOptions, check func(*Cluster, Machine) error) (u *customized, err error) {
	err = c.admin(func(cl *Cluster, m Machine) error {
		if err := check(cl, m); err != nil {
			return err
		}
		u, err = c.customize(cl.settings(), o.patches)
		return err
	})
	return u, err
}

// admin runs fn with the cluster, as the administrator of this control-plane node.
func (c *call) admin(fn func(*Cluster, Machine) error) error {
	var found Machine
	if err := c.w.On(func(m Machine) error { found = m; return nil }); err != nil {
		return err
	}
	return c.w.AsAdmin(directory+"admin.conf", func(cl *Cluster) error { return fn(cl, found) })
}

// mayApply finds what kubeadm refuses before it changes anything, and orders that no driver may choose.
func (c *call) mayApply(cl *Cluster, m Machine, version string) error {
	if err := checkVersion(m.Kubeadm, version); err != nil {
		return err
	}
	stored, err := cl.storedVersion()
	if err != nil {
		return err
	}
	by, applied := cl.Applied[version]
	switch {
	case older(version, stored):
		return fmt.Errorf("[upgrade/version] FATAL: the --version argument is invalid due to these errors: Specified version to upgrade to %q is lower than %q", version, stored)
	case Minor(version) > Minor(stored)+1:
		return fmt.Errorf("[upgrade/version] FATAL: the --version argument is invalid due to these errors: Specified version to upgrade to %q is too high; kubeadm can upgrade only 1 minor version at a time", version)
	case applied && by != c.w.ID() && c.w.Exists(by):
		return fmt.Errorf("kubesim: %q was applied on another control-plane node: upgrade node", version)
	}
	return c.healthy(cl, version)
}

// healthy checks the control-plane nodes: Ready, with all manifests on this machine, and every member of etcd running (kubeadm 1.35).
func (c *call) healthy(cl *Cluster, version string) error {
	for _, component := range components {
		if !c.Exists(manifests + component + ".yaml") {
			return fmt.Errorf("[ERROR StaticPodManifest]: the manifest of %s is missing", component)
		}
	}
	for _, n := range cl.Nodes {
		if n.ControlPlane && !c.w.Ready(cl, n) {
			return fmt.Errorf("[ERROR ControlPlaneNodesReady]: there are NotReady control-planes in the cluster: [%s]", n.Name)
		}
		if Minor(version) > Minor(c.w.KubeletVersion(n))+3 {
			return fmt.Errorf("[upgrade/version] FATAL: the kubelet of %s is too old", n.Name)
		}
	}
	for _, e := range cl.Etcd.Members {
		if !c.w.Running(cl)(e) {
			return fmt.Errorf("etcd cluster is not healthy: failed to dial endpoint https://%s:2379 with maintenance client: context deadline exceeded", e.Address)
		}
	}
	return nil
}

// allows37 fails for members of etcd that must not meet a member of version 3.7.
func (cl *Cluster) allows37(version string) error {
	for _, e := range cl.Etcd.Members {
		if Minor(version) >= 37 && older(e.Version, "3.6.11") {
			return fmt.Errorf("kubesim: etcd's documentation wants every member at 3.6.11 before 3.7, and %s has %s", e.Name, e.Version)
		}
	}
	return nil
}

// replaceStaticPods replaces the manifests that differ, one after the other: the old one is moved away, then the new one is moved to its
// place. A crash can part the two.
func (c *call) replaceStaticPods(ctx context.Context, version string, u *customized) error {
	stamp := c.w.Now().Format("2006-01-02-15-04-05.000000")
	if err := c.Write(saved+"etcd-"+stamp+"/etcd/member", "member", 0o600); err != nil {
		return err
	}
	for _, component := range components {
		name := manifests + component + ".yaml"
		old, err := afero.ReadFile(c.FS, name)
		if err != nil {
			return err
		}
		if tag := tagOf(string(old)); strings.HasSuffix(image("", component, version), ":"+tag) {
			continue
		}
		text, err := u.manifest(component, version)
		if err != nil {
			return err
		}
		if component == "etcd" && !older(VersionOf(string(old)), VersionOf(text)) {
			continue // kubeadm does not downgrade etcd
		}
		if err := c.Write(saved+"manifests-"+stamp+"/"+component+".yaml", string(old), 0o600); err != nil {
			return err
		}
		if err := c.FS.Remove(name); err != nil {
			return err
		}
		c.w.Unmirror(component)
		if err := program.Pause(ctx, c.w.Takes()/8); err != nil {
			return err
		}
		if err := c.Write(name, text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// upgradeNode upgrades another control-plane node, or the configuration of a worker's kubelet. kubeadm takes a machine without an API
// server's manifest for a worker.
func (c *call) upgradeNode(ctx context.Context, args []string) error {
	o, rest, err := c.readUpgrade(args)
	if err != nil || len(rest) > 0 {
		return errors.Join(err, program.Unexpected(rest))
	}
	if o.dryRun {
		return errors.New("kubesim: upgrade node --dry-run is not simulated")
	}
	var version string
	err = c.w.On(func(m Machine) error {
		cl := c.w.Cluster()
		if cl == nil {
			return errors.New("error: couldn't create a Kubernetes client from file \"/etc/kubernetes/kubelet.conf\"")
		}
		if _, err := c.w.Reach(cl.Endpoint); err != nil {
			return err
		}
		var err error
		if version, err = cl.storedVersion(); err != nil {
			return err
		}
		return checkVersion(m.Kubeadm, version)
	})
	if err != nil {
		return err
	}
	if c.Exists(manifests + "kube-apiserver.yaml") {
		u, err := c.customizeUpgrade(o, func(cl *Cluster, m Machine) error {
			return errors.Join(c.healthy(cl, version), c.hasImages(m, cl.settings(), version, o.ignore), cl.allows37(version))
		})
		if err != nil {
			return err
		}
		if err := c.replaceStaticPods(ctx, version, u); err != nil {
			return err
		}
		if err := c.admin(func(cl *Cluster, _ Machine) error { return c.upgradeAddons(cl) }); err != nil {
			return err
		}
	}
	c.Printf("[upgrade] The configuration for this node was successfully updated!\n")
	u, err := c.customize(nil, o.patches)
	if err != nil {
		return err
	}
	return u.writeKubelet(version)
}

// upgradeAddons replaces kube-proxy once every API server has the version of the cluster.
func (c *call) upgradeAddons(cl *Cluster) error {
	for _, version := range c.w.APIServers(cl) {
		if version != cl.Version {
			return nil
		}
	}
	return cl.SetProxy()
}

// configKind is the kind of kubeadm-config.
var configKind = kubeapi.Kind{Version: "v1", Kind: "ConfigMap", Plural: "configmaps", Namespaced: true}

const configKey = "ConfigMap/kube-system/kubeadm-config"

// stored returns the ClusterConfiguration in kubeadm-config.
func (cl *Cluster) stored() (map[string]any, error) {
	var object struct {
		Data map[string]string `yaml:"data"`
	}
	var config map[string]any
	err := errors.Join(yaml.Unmarshal(cl.Objects[configKey], &object), yaml.Unmarshal([]byte(object.Data["ClusterConfiguration"]), &config))
	if err == nil && config == nil {
		err = errors.New("could not find the ConfigMap \"kubeadm-config\" in the \"kube-system\" namespace")
	}
	return config, err
}

func (cl *Cluster) storedVersion() (string, error) {
	config, err := cl.stored()
	version, _ := config["kubernetesVersion"].(string)
	return strings.TrimPrefix(version, "v"), err
}

// uploadVersion stores the version of the cluster. The other settings stay.
func (cl *Cluster) uploadVersion() error {
	config, err := cl.stored()
	if err != nil {
		return err
	}
	config["kubernetesVersion"] = "v" + cl.Version
	return cl.upload(config)
}

func (cl *Cluster) upload(config map[string]any) error {
	text, err := yaml.Marshal(config)
	if err != nil {
		return err
	}
	return cl.Store(configKind, kubeapi.Object{"metadata": kubeapi.Object{"name": "kubeadm-config", "namespace": "kube-system"},
		"data": kubeapi.Object{"ClusterConfiguration": string(text)}})
}

// CheckKubelet fails for a kubelet that is newer than an API server of the cluster, or is upgraded by a minor version while its node accepts
// pods.
func CheckKubelet(cl *Cluster, n *kubeapi.Node, was, is string, apiServers map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(apiServers)) {
		if apiServers[name] == "" {
			continue // of a world that an earlier version has saved
		}
		if older(apiServers[name], is) && Minor(apiServers[name]) != Minor(is) || older(cl.Version, is) && Minor(cl.Version) != Minor(is) {
			return fmt.Errorf("kubesim: kubelet %s is newer than the API server of %s, %s", is, name, apiServers[name])
		}
	}
	if n != nil && Minor(was) < Minor(is) && !n.Unschedulable {
		return fmt.Errorf("kubesim: the kubelet of %s is upgraded from %s to %s and the node is not drained", n.Name, was, is)
	}
	return nil
}
