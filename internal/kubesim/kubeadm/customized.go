package kubeadm

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
	"gopkg.in/yaml.v3"
)

// customized are the settings of the user of the cluster for static pods and the kubelet: flags, volumes and patches. Patches are not applied: their names
// are in the annotation patchesNote of the pod, and in the configuration of the kubelet.
type customized struct {
	call    *call
	patches []string // files
	from    string   // repository of the images
	config  struct {
		APIServer         component `yaml:"apiServer"`
		ControllerManager component `yaml:"controllerManager"`
		Scheduler         component `yaml:"scheduler"`
		Etcd              struct {
			Local component `yaml:"local"`
		} `yaml:"etcd"`
	}
}

type component struct {
	ExtraArgs []struct{ Name, Value string } `yaml:"extraArgs"`
	Volumes   []struct {
		HostPath string `yaml:"hostPath"`
		PathType string `yaml:"pathType"`
	} `yaml:"extraVolumes"`
}

const patchesNote = "kubesim/patches"

// customize reads the settings of a ClusterConfiguration and the names of the patches in a folder of the machine.
func (c *call) customize(settings map[string]any, patches string) (*customized, error) {
	out := &customized{call: c, from: repositoryOf(settings)}
	text, err := yaml.Marshal(settings)
	if err == nil {
		err = yaml.Unmarshal(text, &out.config)
	}
	if err != nil || patches == "" {
		return out, err
	}
	files, err := afero.ReadDir(c.FS, patches)
	if err != nil {
		return nil, fmt.Errorf("could not list patch files for path %q: %w", patches, err)
	}
	for _, f := range files {
		out.patches = append(out.patches, f.Name())
	}
	return out, nil
}

// patchesOf returns the names of the patches of a target, joined.
func (u *customized) patchesOf(target string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(u.patches), func(name string) bool { return !strings.HasPrefix(name, target) }), " ")
}

// manifest returns the static pod of a component in a cluster with this version. A pod whose files are missing does not start.
func (u *customized) manifest(name, version string) (string, error) {
	of := map[string]component{"kube-apiserver": u.config.APIServer, "kube-controller-manager": u.config.ControllerManager, "kube-scheduler": u.config.Scheduler,
		"etcd": u.config.Etcd.Local}[name]
	for _, v := range of.Volumes {
		if v.PathType == "File" && !u.call.Exists(path.Clean(v.HostPath)) {
			return "", fmt.Errorf("kubesim: %s does not start: hostPath type check failed: %s is not a file", name, v.HostPath)
		}
	}
	var flags, note string
	for i, arg := range of.ExtraArgs {
		if i == 0 {
			flags = "    command:\n    - " + name + "\n"
		}
		flags += fmt.Sprintf("    - %q\n", "--"+arg.Name+"="+arg.Value)
	}
	if names := u.patchesOf(name); names != "" {
		note = "  annotations:\n    " + patchesNote + ": " + names + "\n"
	}
	return "apiVersion: v1\nkind: Pod\nmetadata:\n" + note + "  labels:\n    component: " + name + "\n    tier: control-plane\n  name: " + name +
		"\n  namespace: kube-system\nspec:\n  containers:\n  - image: " + image(u.from, name, version) + "\n" + flags + "    name: " + name + "\n  hostNetwork: true\nstatus: {}\n", nil
}

// kubeletConfig is the file with the settings of the kubelet.
const kubeletConfig = "/var/lib/kubelet/config.yaml"

// writeKubelet writes the settings of the kubelet.
func (u *customized) writeKubelet(version string) error {
	text := "# of kubeadm " + version + "\n"
	if names := u.patchesOf("kubeletconfiguration"); names != "" {
		text += "# " + patchesNote + ": " + names + "\n"
	}
	return u.call.Write(kubeletConfig, text, 0o644)
}
