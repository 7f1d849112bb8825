package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Files with flags of a kubelet. kubeadm writes the first one, an administrator the other one.
const (
	kubeletFlags = "/var/lib/kubelet/kubeadm-flags.env"
	kubeletExtra = "/etc/default/kubelet"
)

// featureGates is the flag of all components, and the setting in their configuration files, with feature gates.
const featureGates = "feature-gates"

// clusterSettings are the parts of a ClusterConfiguration with flags of components.
type clusterSettings struct {
	APIServer         component `yaml:"apiServer"`
	ControllerManager component `yaml:"controllerManager"`
	Scheduler         component `yaml:"scheduler"`
	Etcd              struct {
		Local component `yaml:"local"`
	} `yaml:"etcd"`
}

type component struct {
	ExtraArgs extraArgs `yaml:"extraArgs"`
}

// extraArgs are flags of a component: a list of names and values, or, in v1beta3, a mapping.
type extraArgs []extraArg

// UnmarshalYAML implements yaml.Unmarshaler.
func (e *extraArgs) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return node.Decode((*[]extraArg)(e))
	}
	var byName map[string]string
	err := node.Decode(&byName)
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		*e = append(*e, extraArg{name, byName[name]})
	}
	return err
}

// RemovedSettings returns the settings in ConfigMaps of kubeadm that a version of Kubernetes does not accept any more, and ConfigMaps whose
// settings cannot be read.
func RemovedSettings(configMaps map[string]map[string]string, version kubeversion.Version) (found []error) {
	var c clusterSettings
	if err := yaml.Unmarshal([]byte(configMaps["kubeadm-config"]["ClusterConfiguration"]), &c); err != nil {
		found = append(found, fmt.Errorf("the ConfigMap kubeadm-config: %w", err))
	}
	for _, of := range []struct {
		path, component string
		args            extraArgs
	}{{"apiServer", StaticAPIServer, c.APIServer.ExtraArgs}, {"controllerManager", StaticControllerManager, c.ControllerManager.ExtraArgs},
		{"scheduler", StaticScheduler, c.Scheduler.ExtraArgs}, {"etcd.local", kubeversion.Etcd, c.Etcd.Local.ExtraArgs}} {
		for _, arg := range of.args {
			for _, reason := range removedFlag(of.component, arg.Name, arg.Value, version) {
				found = append(found, fmt.Errorf("the ConfigMap kubeadm-config: %s.extraArgs: %s", of.path, reason))
			}
		}
	}
	for _, of := range []struct{ name, key string }{{"kubelet-config", "kubelet"}, {"kube-proxy", "config.conf"}} {
		var settings struct {
			FeatureGates map[string]bool `yaml:"featureGates"`
		}
		if err := yaml.Unmarshal([]byte(configMaps[of.name][of.key]), &settings); err != nil {
			found = append(found, fmt.Errorf("the ConfigMap %s: %w", of.name, err))
		}
		for _, gate := range slices.Sorted(maps.Keys(settings.FeatureGates)) {
			if minor := version.RemovedGate(gate); minor > 0 {
				found = append(found, fmt.Errorf("the ConfigMap %s: featureGates: %s", of.name, removedGate(gate, minor)))
			}
		}
	}
	return found
}

func removedGate(name string, minor int) string {
	return fmt.Sprintf("the feature gate %s does not exist since 1.%d", name, minor)
}

// removedFlag returns the reasons why a version does not accept a flag.
func removedFlag(component, name, value string, version kubeversion.Version) (reasons []string) {
	if component == kubeversion.Kubelet || component == kubeversion.Etcd {
		if minor := version.RemovedFlag(component, name); minor > 0 {
			reasons = append(reasons, fmt.Sprintf("the flag --%s of %s does not exist since Kubernetes 1.%d", name, component, minor))
		}
	}
	if name != featureGates {
		return reasons
	}
	for gate := range strings.SplitSeq(value, ",") {
		gate, _, _ = strings.Cut(strings.TrimSpace(gate), "=")
		if minor := version.RemovedGate(gate); minor > 0 {
			reasons = append(reasons, "--"+featureGates+": "+removedGate(gate, minor))
		}
	}
	return reasons
}

// RemovedKubeletFlags returns the flags in files of a machine with which a kubelet of a version does not start. Flags that kubeadm has written
// are left out: DropKubeletFlags removes them.
func RemovedKubeletFlags(ctx context.Context, n mgmt.Node, version kubeversion.Version) (found []error, err error) {
	for _, file := range []string{kubeletFlags, kubeletExtra} {
		text, _, err := n.Root().Read(ctx, file)
		if err != nil {
			return found, err
		}
		for line := range strings.Lines(string(text)) {
			variable, words, _ := strings.Cut(strings.TrimSpace(line), "=")
			if strings.HasPrefix(variable, "#") {
				continue
			}
			for _, flag := range flagsIn(strings.Trim(words, `"'`)) {
				if file == kubeletFlags && kubeversion.OfKubeadm(flag.name) {
					continue
				}
				for _, reason := range removedFlag(kubeversion.Kubelet, flag.name, flag.value, version) {
					found = append(found, fmt.Errorf("%s of %s: %s", file, n.Label(), reason))
				}
			}
		}
	}
	return found, nil
}

// DropKubeletFlags removes flags that a version of the kubelet does not accept from the file that kubeadm has written, and returns their
// names. kubeadm 1.36 and later leave them there.
func DropKubeletFlags(ctx context.Context, n mgmt.Node, version kubeversion.Version) (dropped []string, err error) {
	text, exists, err := n.Root().Read(ctx, kubeletFlags)
	if !exists || err != nil {
		return nil, err
	}
	cleaned, dropped := withoutFlags(string(text), version)
	if len(dropped) == 0 {
		return nil, nil
	}
	return dropped, n.Root().Write(ctx, kubeletFlags, []byte(cleaned), 0o644)
}

// flag is a flag of a command line, with its words: the value may be the second word.
type flag struct {
	name, value string
	words       []string
	open        bool // the next word may be the value
}

func flagsIn(text string) (out []flag) {
	for _, word := range strings.Fields(text) {
		isFlag, last := strings.HasPrefix(word, "-"), len(out)-1
		if !isFlag && last >= 0 && out[last].open {
			out[last].value, out[last].words, out[last].open = word, append(out[last].words, word), false
			continue
		}
		f := flag{words: []string{word}}
		if isFlag {
			var complete bool
			f.name, f.value, complete = strings.Cut(strings.TrimLeft(word, "-"), "=")
			f.open = !complete
		}
		out = append(out, f)
	}
	return out
}

// withoutFlags returns a file of environment variables without the flags that a version of the kubelet does not accept.
func withoutFlags(text string, version kubeversion.Version) (cleaned string, dropped []string) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		variable, value, assigns := strings.Cut(strings.TrimRight(line, "\n"), "=")
		quote := ""
		if value != "" && (value[0] == '"' || value[0] == '\'') {
			quote = value[:1]
		}
		var kept, gone []string
		for _, f := range flagsIn(strings.Trim(value, quote)) {
			if version.RemovedFlag(kubeversion.Kubelet, f.name) > 0 {
				gone = append(gone, f.name)
				continue
			}
			kept = append(kept, f.words...)
		}
		if !assigns || len(gone) == 0 {
			out.WriteString(line)
			continue
		}
		dropped = append(dropped, gone...)
		out.WriteString(variable + "=" + quote + strings.Join(kept, " ") + quote + "\n")
	}
	return out.String(), dropped
}

// ForVersion returns the configuration of the cluster with another version of Kubernetes, for kubeadm of that version.
func (c Configuration) ForVersion(version string) (Configuration, error) {
	root, err := c.root()
	if err != nil {
		return "", err
	}
	set(root, "kubernetesVersion", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "v" + version})
	text, err := Marshal(root)
	return Configuration(text), err
}

// WithNames returns the configuration with names for the certificates of API servers added, and without those that leave reports.
func (c Configuration) WithNames(added []string, leave func(name string) bool) (Configuration, error) {
	root, err := c.root()
	if err != nil {
		return "", err
	}
	server := child(root, "apiServer")
	if server == nil || server.Kind != yaml.MappingNode {
		server = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		set(root, "apiServer", server)
	}
	var before, names []string
	if list := child(server, "certSANs"); list != nil {
		if err := list.Decode(&before); err != nil {
			return "", fmt.Errorf("kubeadm: certSANs of the ClusterConfiguration: %w", err)
		}
	}
	for _, name := range slices.Concat(before, added) {
		if !slices.Contains(names, name) && (slices.Contains(added, name) || !leave(name)) {
			names = append(names, name)
		}
	}
	if slices.Equal(before, names) {
		return c, nil
	}
	list := &yaml.Node{}
	if err := list.Encode(names); err != nil {
		return "", err
	}
	set(server, "certSANs", list)
	text, err := Marshal(root)
	return Configuration(text), err
}

// root returns the mapping of the document.
func (c Configuration) root() (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(c), &document); err != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.Join(errors.New("kubeadm: the ConfigMap kubeadm-config has no ClusterConfiguration"), err)
	}
	return document.Content[0], nil
}

// Validate checks a configuration with the kubeadm of a node. It changes nothing.
func (c Configuration) Validate(ctx context.Context, n mgmt.Node) error {
	return run(ctx, n, []byte(c), "config", "validate")
}

// Images returns the images that the kubeadm of a node deploys with a configuration, and the pause image.
func (c Configuration) Images(ctx context.Context, n mgmt.Node) ([]string, error) {
	out, err := n.Root().Output(ctx, sshexec.Command{Argv: withConfig("config", "images", "list"), Stdin: strings.NewReader(string(c))})
	return strings.Fields(string(out)), jointoken.Masked(err)
}
