package kubeadm

import (
	"bytes"
	"cmp"
	"context"
	_ "embed" // the manifest
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"regexp"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// flannelParam is the parameter "flannel": the pod network of clusters whose package has no manifest of one.
type flannelParam struct {
	Image          string `json:"image"`            // of the agent
	CNIPluginImage string `json:"cni_plugin_image"` // of the plugin that connects containers
	Backend        string `json:"backend"`          // vxlan (default) or host-gw, which sets routes and requires all nodes in one network
}

// The images of flannel's release 0.28.4. Parameters can name other ones.
const (
	defaultFlannelImage  = "ghcr.io/flannel-io/flannel:v0.28.4"
	defaultFlannelPlugin = "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1"
)

// imageForm matches a reference of an image with a tag or a digest (OCI distribution specification, "Pulling manifests"),
// such as registry.example.org:5000/a/b:v1.
var imageForm = regexp.MustCompile(`^[a-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*` +
	`(:[A-Za-z0-9_][A-Za-z0-9._-]{0,127}(@sha256:[0-9a-f]{64})?|@sha256:[0-9a-f]{64})$`)

func (c *checker) flannel(p *clusterParam) {
	f := p.Flannel
	for _, image := range []struct{ path, name string }{{"flannel.image", f.Image}, {"flannel.cni_plugin_image", f.CNIPluginImage}} {
		if image.name != "" && !imageForm.MatchString(image.name) {
			c.Fault(image.path, image.name, "must be an image with its tag or digest, such as "+defaultFlannelImage)
		}
	}
	if f.Backend != "" && f.Backend != "vxlan" && f.Backend != "host-gw" {
		c.Fault("flannel.backend", f.Backend, "must be vxlan or host-gw")
	}
	if f != (flannelParam{}) && !p.usesFlannel() {
		c.Fault("flannel", "", "has no effect with cni_manifest_path or script_path: leave it out, or them")
	}
}

// usesFlannel reports whether the driver sets up the pod network with flannel: neither a manifest of the package nor a
// script does.
func (p *clusterParam) usesFlannel() bool { return p.CNIManifestPath == "" && p.ScriptPath == "" }

func (p *clusterParam) flannelImage() string {
	return cmp.Or(p.Flannel.Image, p.fromRepository(defaultFlannelImage))
}

func (p *clusterParam) flannelPlugin() string {
	return cmp.Or(p.Flannel.CNIPluginImage, p.fromRepository(defaultFlannelPlugin))
}

// networkManifest returns the manifest of the pod network: the package's, or flannel's. It returns nil if the script sets
// up the network.
func (e *environment) networkManifest() ([]byte, error) {
	switch {
	case e.p.CNIManifestPath != "":
		name, err := e.op.Package.Artifact(e.p.CNIManifestPath)
		if err != nil {
			return nil, err
		}
		return fs.ReadFile(e.op.Package, name)
	case e.p.usesFlannel():
		return e.p.flannelManifest()
	default:
		return nil, nil
	}
}

//go:embed flannel.yaml
var flannelTemplate []byte

// flannelManifest replaces values in the parsed documents, so that a value remains a string whatever it contains.
func (p *clusterParam) flannelManifest() ([]byte, error) {
	network, err := p.flannelNetwork()
	if err != nil {
		return nil, err
	}
	values := map[string]string{
		"@image@":            p.flannelImage(),
		"@cni-plugin-image@": p.flannelPlugin(),
		"@cni-conf@":         flannelCNI,
		"@net-conf@":         network,
	}
	var documents []any
	for in := yaml.NewDecoder(bytes.NewReader(flannelTemplate)); ; {
		var doc yaml.Node
		if err := in.Decode(&doc); errors.Is(err, io.EOF) {
			return controlplane.Marshal(documents...)
		} else if err != nil {
			return nil, err
		}
		replaceScalars(&doc, values)
		documents = append(documents, &doc)
	}
}

func replaceScalars(n *yaml.Node, values map[string]string) {
	n.HeadComment, n.LineComment, n.FootComment = "", "", ""
	if value, found := values[n.Value]; found && n.Kind == yaml.ScalarNode {
		n.SetString(value)
	}
	for _, child := range n.Content {
		replaceScalars(child, values)
	}
}

// flannelCNI chains flannel's plugin with the plugin for host ports (github.com/containernetworking/cni, SPEC.md).
const flannelCNI = `{"name":"cbr0","cniVersion":"0.3.1","plugins":[` +
	`{"type":"flannel","delegate":{"hairpinMode":true,"isDefaultGateway":true}},` +
	`{"type":"portmap","capabilities":{"portMappings":true}}]}`

// flannelNetwork returns flannel's configuration: the pod network of one address family (github.com/flannel-io/flannel,
// Documentation/configuration.md).
func (p *clusterParam) flannelNetwork() (string, error) {
	type backend struct{ Type string }
	conf := struct {
		Network     string `json:",omitempty"`
		EnableIPv4  bool
		EnableIPv6  bool   `json:",omitempty"`
		IPv6Network string `json:",omitempty"`
		Backend     backend
	}{Backend: backend{cmp.Or(p.Flannel.Backend, "vxlan")}}
	pods, err := netip.ParsePrefix(p.Master.PodCIDR)
	if err != nil {
		return "", err
	}
	if pods.Addr().Is4() {
		conf.Network, conf.EnableIPv4 = pods.String(), true
	} else {
		conf.IPv6Network, conf.EnableIPv6 = pods.String(), true
	}
	text, err := json.Marshal(conf)
	return string(text), err
}

func runApplyNetwork(ctx context.Context, e *environment, _ mgmt.Node) error {
	manifest, err := e.networkManifest()
	if err != nil {
		return err
	}
	return e.kube.Apply(ctx, manifest)
}
