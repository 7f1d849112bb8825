package kubeadm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// userParam are settings of kubeadm in the form of its configuration files (kubeadm.k8s.io/v1beta4), patches, and files that the settings name.
type userParam struct {
	ClusterConfiguration map[string]any `json:"cluster_configuration"`
	InitConfiguration    map[string]any `json:"init_configuration"`
	Patches              []patchParam   `json:"kubeadm_patches"`
	Files                []fileParam    `json:"control_plane_files"`
}

// fileParam is a file of every control-plane node.
type fileParam struct {
	Path     string        `json:"path"`
	Artifact string        `json:"artifact"` // file of the package
	Content  vnflcm.Secret `json:"content"`  // instead of an artifact
}

// Settings that the driver sets or depends on, by path, with the remedy.
var (
	clusterOwn = map[string]string{
		"apiVersion": "leave it out", "kind": "leave it out",
		"kubernetesVersion": "give kubernetes_version", "controlPlaneEndpoint": "give api_endpoint, external_lb_param or master_node.cluster_cp_name",
		"networking.podSubnet": "give master_node.pod_cidr", "networking.serviceSubnet": "give master_node.cluster_cidr",
		"certificateValidityPeriod": "give certificate_validity", "caCertificateValidityPeriod": "the driver does not renew authorities",
		"certificatesDir": "leave it out", "imageRepository": "give image_repository",
		"etcd.external": "the driver adds and removes the members of etcd", "etcd.local.dataDir": "leave it out",
		"etcd.local.imageTag": "an upgrade chooses the version of etcd", "proxy.disabled": "the driver takes a cluster without kube-proxy for an unfinished one",
	}
	initOwn = map[string]string{
		"apiVersion": "leave it out", "kind": "leave it out", "bootstrapTokens": "leave it out", "certificateKey": "leave it out", "dryRun": "leave it out",
		"localAPIEndpoint": "leave it out", "skipPhases": "the driver needs every phase; cluster_configuration can turn off CoreDNS by dns.disabled",
		"patches": "give kubeadm_patches", "nodeRegistration.name": "leave it out", "nodeRegistration.criSocket": "leave it out",
		"nodeRegistration.taints": "give master_node.taints or worker_node.taints", "nodeRegistration.ignorePreflightErrors": "give ignore_preflight_errors",
	}
)

// Flags that kubeadm sets, and on which the cluster or the driver depends, by the component in the path.
var flagsOwn = map[string][]string{
	"apiServer": {"advertise-address", "anonymous-auth", "bind-address", "client-ca-file", "enable-bootstrap-token-auth", "etcd-cafile", "etcd-certfile", "etcd-keyfile",
		"etcd-servers", "kubelet-client-certificate", "kubelet-client-key", "proxy-client-cert-file", "proxy-client-key-file", "requestheader-client-ca-file",
		"secure-port", "service-account-key-file", "service-account-signing-key-file", "service-cluster-ip-range", "tls-cert-file", "tls-private-key-file"},
	"controllerManager": {"allocate-node-cidrs", "authentication-kubeconfig", "authorization-kubeconfig", "client-ca-file", "cluster-cidr", "cluster-signing-cert-file",
		"cluster-signing-key-file", "kubeconfig", "requestheader-client-ca-file", "root-ca-file", "service-account-private-key-file", "service-cluster-ip-range"},
	"scheduler": {"authentication-kubeconfig", "authorization-kubeconfig", "kubeconfig"},
	"etcd": {"advertise-client-urls", "cert-file", "client-cert-auth", "data-dir", "force-new-cluster", "initial-advertise-peer-urls", "initial-cluster", "initial-cluster-state",
		"initial-cluster-token", "key-file", "listen-client-urls", "listen-metrics-urls", "listen-peer-urls", "name", "peer-cert-file", "peer-client-cert-auth", "peer-key-file",
		"peer-trusted-ca-file", "trusted-ca-file", "wal-dir"},
	"nodeRegistration": {"bootstrap-kubeconfig", "cert-dir", "config", "container-runtime-endpoint", "hostname-override", "kubeconfig", "node-ip", "node-labels",
		"pod-manifest-path", "register-node", "register-with-taints", "root-dir"},
}

// neededElements are the elements that a flag of kubeadm must keep.
var neededElements = map[string][]string{"authorization-mode": {"Node", "RBAC"}, "controllers": {"bootstrapsigner", "tokencleaner"}}

const ownReason = "is set by kubeadm or the driver and must stay so: "

func (c *checker) userConfig(p *clusterParam) {
	u := p.userParam
	c.own("cluster_configuration", u.ClusterConfiguration, clusterOwn)
	c.own("init_configuration", u.InitConfiguration, initOwn)
	for _, at := range controlplane.ArgPaths {
		c.flags("cluster_configuration", u.ClusterConfiguration, at, p.KubernetesVersion)
	}
	c.flags("init_configuration", u.InitConfiguration, controlplane.KubeletArgs, p.KubernetesVersion)
	c.certSANs(u.ClusterConfiguration)
	for i, patch := range u.Patches {
		c.patch(fmt.Sprintf("kubeadm_patches[%d]", i), patch, p.KubernetesVersion)
	}
	seen := map[string]bool{}
	for i, f := range u.Files {
		at := fmt.Sprintf("control_plane_files[%d]", i)
		c.controlPlaneFile(at, f)
		if seen[f.Path] {
			c.Fault(at+".path", f.Path, "is in the list twice")
		}
		seen[f.Path] = true
	}
	for _, given := range []struct {
		path  string
		given bool
	}{{"cluster_configuration", len(u.ClusterConfiguration) > 0}, {"init_configuration", len(u.InitConfiguration) > 0}, {"kubeadm_patches", len(u.Patches) > 0},
		{"control_plane_files", len(u.Files) > 0}} {
		if p.ScriptPath != "" && given.given {
			c.Fault(given.path, "", "has no effect with script_path: the script runs kubeadm")
		}
	}
}

// own refuses settings that the driver owns. kubeadm refuses settings that it does not know, when the cluster is made.
func (c *checker) own(document string, settings map[string]any, own map[string]string) {
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if _, given := controlplane.At(settings, strings.Split(name, ".")); given {
			c.Fault(document+"."+name, "", ownReason+own[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if !settingForm.MatchString(name) {
			c.Fault(document, name, "is no name of a setting")
		}
	}
}

// flags refuses flags that kubeadm sets itself.
func (c *checker) flags(document string, settings map[string]any, at []string, version string) {
	value, given := controlplane.At(settings, at)
	if !given {
		return
	}
	name := document + "." + strings.Join(at, ".")
	list, err := controlplane.ParseArgs(plain(value))
	if err != nil {
		c.Fault(name, "", err.Error())
		return
	}
	for i, arg := range list {
		if kubeversion.Minor(version) < 31 && slices.ContainsFunc(list[:i], func(a controlplane.Arg) bool { return a.Name == arg.Name }) {
			c.Fault(name+"."+arg.Name, "", "is given twice, which kubeadm accepts from Kubernetes 1.31 on")
		}
		if slices.Contains(flagsOwn[at[0]], arg.Name) {
			c.Fault(name+"."+arg.Name, "", ownReason+"leave it out")
		}
		for _, element := range neededElements[arg.Name] {
			if !slices.Contains(strings.Split(arg.Value, ","), element) {
				c.Fault(name+"."+arg.Name, arg.Value, "must have "+element+", without which nodes cannot join")
			}
		}
	}
}

// certSANs checks the form of the names that are added to those of the driver.
func (c *checker) certSANs(settings map[string]any) {
	names, given := controlplane.At(settings, []string{"apiServer", "certSANs"})
	if _, isList := names.([]any); given && !isList {
		c.Fault("cluster_configuration.apiServer.certSANs", "", "must be a list of names and addresses")
	}
}

// fileForm matches a file in a folder below /etc/kubernetes.
var fileForm = regexp.MustCompile(`^/etc/kubernetes/[A-Za-z0-9][A-Za-z0-9_.-]*(/[A-Za-z0-9][A-Za-z0-9_.-]*)+$`)

// ownFolders are the folders in /etc/kubernetes that kubeadm and the driver use.
var ownFolders = []string{"manifests", "patches", "pki", "tmp"}

func (c *checker) controlPlaneFile(at string, f fileParam) {
	folder, _, _ := strings.Cut(strings.TrimPrefix(f.Path, "/etc/kubernetes/"), "/")
	if !fileForm.MatchString(f.Path) || path.Clean(f.Path) != f.Path || slices.Contains(ownFolders, folder) || strings.HasPrefix(folder, "vnfkit") {
		c.Fault(at+".path", f.Path, "must be a file in a folder below /etc/kubernetes, such as /etc/kubernetes/audit/policy.yaml, but not in "+strings.Join(ownFolders, ", "))
	}
	switch {
	case f.Artifact == "" && f.Content.IsZero():
		c.Fault(at+".artifact", "", "is required without content")
	case f.Artifact != "" && !f.Content.IsZero():
		c.Fault(at+".content", "", "is given beside artifact: leave one of them out")
	}
	c.File(at+".artifact", f.Artifact)
}

// hasFiles reports whether nodes get files or patches of the user.
func (u userParam) hasFiles() bool { return len(u.Files)+len(u.Patches) > 0 }

// userSettings returns the settings of the user for kubeadm.
func (u userParam) userSettings() controlplane.UserSettings {
	var s controlplane.UserSettings
	s.Cluster, _ = plain(u.ClusterConfiguration).(map[string]any)
	s.Init, _ = plain(u.InitConfiguration).(map[string]any)
	for i, p := range u.Patches {
		text, _ := json.Marshal(p.Patch) // of decoded JSON
		name := fmt.Sprintf("%s%03d+%s.json", p.Target, i, cmp.Or(p.Type, strategicPatch))
		s.Patches = append(s.Patches, controlplane.File{Path: path.Join(controlplane.PatchesDirectory, name), Content: text})
	}
	return s
}

// controlPlaneFiles returns the files of control-plane nodes.
func (e *environment) controlPlaneFiles() (out []controlplane.File, err error) {
	for _, f := range e.p.Files {
		content := []byte(f.Content.Reveal())
		if f.Artifact != "" {
			if content, err = readArtifact(e.op, f.Artifact); err != nil {
				return nil, err
			}
		}
		out = append(out, controlplane.File{Path: f.Path, Content: content})
	}
	return out, nil
}

func readArtifact(op *vnflcm.Operation, name string) ([]byte, error) {
	file, err := mgmt.Artifacts(op)(name)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(file)
	return content, errors.Join(err, file.Close())
}

// runWriteUserFiles writes the patches of the user on a node and, on a control-plane node, the files that settings name.
func runWriteUserFiles(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := e.p.userSettings().WritePatches(ctx, n); err != nil || !e.isControlPlane(n) {
		return err
	}
	files, err := e.controlPlaneFiles()
	if err != nil {
		return err
	}
	return controlplane.WriteFiles(ctx, n, files)
}

// upgradeOptions writes the files of the user on a node again, which may have lost them, and returns the options of "kubeadm upgrade" there.
func (e *environment) upgradeOptions(ctx context.Context, n mgmt.Node) (controlplane.UpgradeOptions, error) {
	err := runWriteUserFiles(ctx, e, n)
	return controlplane.UpgradeOptions{Ignore: e.p.IgnorePreflight, Patches: len(e.p.Patches) > 0}, err
}
