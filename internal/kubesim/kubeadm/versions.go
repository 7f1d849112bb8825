package kubeadm

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/pflag"
	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// Versions are the versions of Kubernetes that package sources offer. The first one is installed unless another one is asked for.
var Versions = []string{kubeapi.Version, "1.35.4", "1.35.6", "1.37.2"}

// NewestFirst returns Versions as apt-cache lists them.
func NewestFirst() []string {
	return slices.SortedFunc(slices.Values(Versions), func(a, b string) int {
		return cmp.Or(Minor(b)-Minor(a), patch(b)-patch(a))
	})
}

// images are the tags of etcd, pause and CoreDNS that kubeadm of a minor version deploys.
var images = map[int]struct{ etcd, pause, coredns string }{35: {"3.6.6-0", "3.10.1", "v1.13.1"}, 36: {"3.6.8-0", "3.10.2", "v1.14.2"}, 37: {"3.7.0-0", "3.10.2", "v1.14.6"}}

// Minor returns the minor version of a version such as 1.35.4 or v1.35.4, 0 for another text.
func Minor(version string) int { return number(version, 1) }

func patch(version string) int { return number(version, 2) }

func number(version string, i int) int {
	parts := strings.Split(version, ".")
	if i >= len(parts) {
		return 0
	}
	n, _ := strconv.Atoi(parts[i])
	return n
}

// older reports whether the version a is older than b, of the same major version.
func older(a, b string) bool {
	return Minor(a) < Minor(b) || Minor(a) == Minor(b) && patch(a) < patch(b)
}

const registry = "registry.k8s.io"

// image returns the image of a component in a cluster with this version.
func image(repository, component, version string) string {
	if component == "etcd" {
		return repository + "/etcd:" + images[Minor(version)].etcd
	}
	return repository + "/" + component + ":v" + version
}

// repositoryOf returns imageRepository in a ClusterConfiguration.
func repositoryOf(settings map[string]any) string {
	name, _ := settings["imageRepository"].(string)
	return cmp.Or(name, registry)
}

// imagesOf returns the images of a version of Kubernetes. The repository of the project has CoreDNS in a folder.
func imagesOf(repository, version string) (out []string) {
	version = strings.TrimPrefix(version, "v")
	of := images[Minor(version)]
	dns := "/coredns:"
	if repository == registry {
		dns = "/coredns/coredns:"
	}
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kube-proxy"} {
		out = append(out, image(repository, component, version))
	}
	return append(out, repository+dns+of.coredns, repository+"/pause:"+of.pause, image(repository, "etcd", version))
}

// tagOf returns the tag of the image in the manifest of a static pod, "" if it has none.
func tagOf(manifest string) string {
	_, after, _ := strings.Cut(manifest, "- image: ")
	name, _, _ := strings.Cut(after, "\n")
	_, tag, _ := strings.Cut(name[strings.LastIndex(name, "/")+1:], ":")
	return tag
}

// VersionOf returns the version of Kubernetes, or of etcd, whose static pod a manifest describes.
func VersionOf(manifest string) string {
	version, _, _ := strings.Cut(strings.TrimPrefix(tagOf(manifest), "v"), "-")
	return version
}

// listImages prints what "kubeadm config images list" does, as far as drivers read it: for a version, or for a configuration file.
func (c *call) listImages(args []string) error {
	var version, repository, config string
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&version, "kubernetes-version", "", "")
		f.StringVar(&repository, "image-repository", registry, "")
		f.StringVar(&config, "config", "", "")
	})
	if err != nil || len(rest) > 0 || (version == "") == (config == "") {
		return errors.Join(err, fmt.Errorf("kubesim: images list %q is not simulated", args))
	}
	if config != "" {
		if version, repository, err = c.readImages(config); err != nil {
			return err
		}
	}
	for _, name := range imagesOf(repository, version) {
		c.Printf("%s\n", name)
	}
	return nil
}

// hasImages fails like kubeadm if the machine can neither find nor pull an image of a control plane.
func (c *call) hasImages(m Machine, settings map[string]any, version string, ignore []string) error {
	if !m.Offline || slices.Contains(ignore, "ImagePull") {
		return nil
	}
	for _, name := range imagesOf(repositoryOf(settings), version) {
		if !slices.Contains(m.Images, name) {
			return fmt.Errorf("[preflight] Some fatal errors occurred:\n\t[ERROR ImagePull]: failed to pull image %s", name)
		}
	}
	return nil
}

// readImages reads what chooses the images in the configuration of a cluster. Of settings that it does not know, "kubeadm config images list" only warns.
func (c *call) readImages(name string) (version, repository string, err error) {
	text, err := c.Read(name)
	if err != nil {
		return "", "", err
	}
	f, err := kubeadmconf.Read(text)
	if err == nil {
		err = c.accepts(f)
	}
	if err != nil && !strings.Contains(err.Error(), "unknown field") {
		return "", "", err
	}
	var config struct {
		Kind              string `yaml:"kind"`
		KubernetesVersion string `yaml:"kubernetesVersion"`
		ImageRepository   string `yaml:"imageRepository"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil || config.Kind != "ClusterConfiguration" {
		return "", "", errors.Join(err, errors.New("kubesim: images list takes the configuration of the cluster"))
	}
	return config.KubernetesVersion, cmp.Or(config.ImageRepository, registry), nil
}

// accepts fails for a configuration that the kubeadm of this machine refuses and that of another version does not.
func (c *call) accepts(f *kubeadmconf.File) error {
	return c.w.On(func(m Machine) error { return f.CheckFor(Minor(m.Kubeadm)) })
}

// validate is "kubeadm config validate".
func (c *call) validate(args []string) error {
	f, err := kubeadmconf.Validate(c.Call, args)
	if err == nil {
		err = c.accepts(f)
	}
	if err == nil {
		c.Printf("ok\n")
	}
	return err
}

// KubeletFlags is the file of a machine in which kubeadm writes flags of the kubelet.
const KubeletFlags = "/var/lib/kubelet/kubeadm-flags.env"

// removedFlags are some flags with which a kubelet does not start, by the first minor version without them.
var removedFlags = map[string]int{"--pod-infra-container-image": 35, "--boot-id-file": 37, "--boot_id_file": 37, "--containerd": 37}

// CheckFlags fails for a flag that the kubelet of a version does not have.
func CheckFlags(text, kubelet string) error {
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return unicode.IsSpace(r) || r == '"' }) {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "KUBELET_KUBEADM_ARGS="), "=")
		if since := removedFlags[name]; since > 0 && Minor(kubelet) >= since {
			return fmt.Errorf("E: failed to parse kubelet flag: unknown flag: %s", name)
		}
	}
	return nil
}

// checkVersion fails unless this kubeadm works with a version of the control plane.
func checkVersion(kubeadm, version string) error {
	if kubeadm != strings.TrimPrefix(version, "v") {
		return fmt.Errorf("kubesim: kubeadm %s is not the one of Kubernetes %s", kubeadm, version)
	}
	return nil
}
