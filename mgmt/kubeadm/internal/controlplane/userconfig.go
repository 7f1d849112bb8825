package controlplane

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
)

// UserSettings are settings of kubeadm that a request gives. They have no setting that the driver sets.
type UserSettings struct {
	Cluster map[string]any // of a ClusterConfiguration
	Init    map[string]any // of an InitConfiguration; NodeRegistration and Timeouts also apply to nodes that join
	Patches []File         // of kubeadm, by names in PatchesDirectory
}

// Settings of an InitConfiguration that a JoinConfiguration has too.
const (
	nodeRegistrationKey = "nodeRegistration"
	timeoutsKey         = "timeouts"
)

// forJoin returns the settings of an InitConfiguration for nodes that join.
func (u UserSettings) forJoin() map[string]any {
	out := maps.Clone(u.Init)
	maps.DeleteFunc(out, func(key string, _ any) bool { return key != nodeRegistrationKey && key != timeoutsKey })
	return out
}

// patches is the setting of a node with patches.
func (u UserSettings) patches() *patchDirectory {
	if len(u.Patches) == 0 {
		return nil
	}
	return &patchDirectory{PatchesDirectory}
}

// ArgPaths are the paths of flags in a ClusterConfiguration.
var ArgPaths = [][]string{{"apiServer", extraArgsKey}, {"controllerManager", extraArgsKey}, {"scheduler", extraArgsKey}, {"etcd", "local", extraArgsKey}}

const extraArgsKey = "extraArgs"

// KubeletArgs is the path of flags in an InitConfiguration.
var KubeletArgs = []string{nodeRegistrationKey, "kubeletExtraArgs"}

// Arg is a flag of a component, without dashes.
type Arg = extraArg

// ParseArgs reads flags in the form of kubeadm: a list of objects with a name and a value or, as before v1beta4, an object.
func ParseArgs(given any) ([]Arg, error) {
	text, err := yaml.Marshal(given)
	if err != nil {
		return nil, err
	}
	var out extraArgs
	d := yaml.Unmarshal(text, &out)
	if d != nil || slices.ContainsFunc(out, func(a Arg) bool { return a.Name == "" }) {
		return nil, errors.New(`must be a list of objects with name and value, which are strings: [{"name": "v", "value": "2"}]`)
	}
	return out, nil
}

// At returns the value at a path of nested objects.
func At(in map[string]any, path []string) (any, bool) {
	for _, key := range path[:len(path)-1] {
		in, _ = in[key].(map[string]any)
	}
	value, found := in[path[len(path)-1]]
	return value, found
}

// args returns flags in the form of the version: before v1beta4 an object.
func (k Kubeadm) args(list []extraArg) any {
	if kubeversion.Minor(k.Version) >= 31 {
		return list
	}
	byName := map[string]string{}
	for _, a := range list {
		byName[a.Name] = a.Value
	}
	return byName
}

// merged returns a document of the driver with the settings of the user. Lists are joined, the driver's elements are first.
func (k Kubeadm) merged(document any, user map[string]any, argPaths ...[]string) (any, error) {
	if len(user) == 0 {
		return document, nil
	}
	own, err := asMap(document)
	if err != nil {
		return nil, err
	}
	given, err := asMap(user) // a copy
	if err != nil {
		return nil, err
	}
	for _, path := range argPaths {
		value, found := At(given, path)
		if !found {
			continue
		}
		list, err := ParseArgs(value)
		if err != nil {
			return nil, err
		}
		in := given
		for _, key := range path[:len(path)-1] {
			in = in[key].(map[string]any) //nolint:forcetypeassert // At has found the value
		}
		if in[path[len(path)-1]], err = plainValue(k.args(list)); err != nil {
			return nil, err
		}
	}
	return union(given, own), nil
}

// union adds the settings of the driver to those of the user.
func union(user, own map[string]any) map[string]any {
	out := maps.Clone(user)
	for key, value := range own {
		switch theirs := out[key].(type) {
		case map[string]any:
			if value, both := value.(map[string]any); both {
				out[key] = union(theirs, value)
				continue
			}
		case []any:
			if value, both := value.([]any); both {
				out[key] = slices.Concat(value, theirs)
				continue
			}
		}
		out[key] = value
	}
	return out
}

func asMap(document any) (out map[string]any, err error) {
	text, err := yaml.Marshal(document)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	return out, err
}

// plainValue returns a value as YAML decodes it.
func plainValue(value any) (out any, err error) {
	text, err := yaml.Marshal(value)
	if err == nil {
		err = yaml.Unmarshal(text, &out)
	}
	return out, err
}

// WritePatches writes the patches of kubeadm on a node, and removes others: kubeadm applies every file in the folder.
func (u UserSettings) WritePatches(ctx context.Context, n mgmt.Node) error {
	if len(u.Patches) == 0 {
		return nil
	}
	if err := n.Root().Run(ctx, "rm", "-rf", "--", PatchesDirectory); err != nil {
		return err
	}
	return WriteFiles(ctx, n, u.Patches)
}

// WriteFiles writes files that only root can read.
func WriteFiles(ctx context.Context, n mgmt.Node, files []File) error {
	for _, f := range files {
		if err := n.Root().Write(ctx, f.Path, f.Content, 0o600); err != nil {
			return fmt.Errorf("%s: %w", f.Path, err)
		}
	}
	return nil
}
