package kubeadm

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/internal/clusterparam"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// componentParam are the parameters of kubeadm's components: settings in the form of the components' configuration files,
// and preflight checks to ignore.
type componentParam struct {
	Kubelet         map[string]any `json:"kubelet_configuration"`    // kubelet.config.k8s.io/v1beta1
	KubeProxy       map[string]any `json:"kube_proxy_configuration"` // kubeproxy.config.k8s.io/v1alpha1
	IgnorePreflight []string       `json:"ignore_preflight_errors"`  // names of kubeadm's checks; default none
}

// Settings that requests may not change. The first ones of the kubelet control who may access it; kubeadm sets them. The
// remaining ones are paths and addresses on which kubeadm and this driver rely.
var (
	kubeletOwn = []string{"apiVersion", "kind", "authentication", "authorization", "readOnlyPort", "rotateCertificates",
		"tlsCertFile", "tlsPrivateKeyFile", "staticPodPath", "staticPodURL", "staticPodURLHeader",
		"containerRuntimeEndpoint", "imageServiceEndpoint"}
	kubeProxyOwn = []string{"apiVersion", "kind", "clientConnection", "clusterCIDR", "hostnameOverride"}
)

var (
	settingForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*$`)
	checkForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

func (c *checker) components(p *clusterParam) {
	for _, part := range []struct {
		path     string
		settings map[string]any
		own      []string
	}{{"kubelet_configuration", p.Kubelet, kubeletOwn}, {"kube_proxy_configuration", p.KubeProxy, kubeProxyOwn}} {
		for _, name := range slices.Sorted(maps.Keys(part.settings)) {
			switch {
			case !settingForm.MatchString(name):
				c.Fault(part.path, name, "is no name of a setting")
			case slices.Contains(part.own, name):
				c.Fault(part.path+"."+name, "", "is set by kubeadm and must stay so: leave it out")
			}
		}
	}
	c.kubelet(p.Kubelet)
	for i, name := range p.IgnorePreflight {
		at := fmt.Sprintf("ignore_preflight_errors[%d]", i)
		switch {
		case strings.EqualFold(name, "all"):
			c.Fault(at, name, "kubeadm takes no \"all\" in its configuration: name the checks, as its messages do")
		case !checkForm.MatchString(name):
			c.Fault(at, name, "is no name of a check, such as NumCPU")
		}
	}
	if p.ScriptPath == "" {
		return
	}
	for _, asked := range []struct {
		path  string
		given bool
	}{{"kubelet_configuration", len(p.Kubelet) > 0}, {"kube_proxy_configuration", len(p.KubeProxy) > 0}, {"ignore_preflight_errors", len(p.IgnorePreflight) > 0}} {
		if asked.given {
			c.Fault(asked.path, "", "has no effect with script_path: the script runs kubeadm")
		}
	}
}

// kubelet checks the settings of the kubelet on which the driver depends.
func (c *checker) kubelet(settings map[string]any) {
	driver, given := settings["cgroupDriver"]
	if given && driver != "systemd" && driver != "cgroupfs" {
		c.Fault("kubelet_configuration.cgroupDriver", "", "must be systemd or cgroupfs")
	}
	if swap, given := settings["failSwapOn"]; given {
		if _, ok := swap.(bool); !ok {
			c.Fault("kubelet_configuration.failSwapOn", "", "must be true or false")
		}
	}
	gates, given := settings["featureGates"]
	byName, ok := gates.(map[string]any)
	if given && !ok {
		c.Fault("kubelet_configuration.featureGates", "", "must be an object of names and true or false")
	}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		if _, ok := byName[name].(bool); !ok {
			c.Fault("kubelet_configuration.featureGates."+name, "", "must be true or false")
		}
	}
}

// swapAllowed reports whether the request configures the kubelet to accept swap.
func (p *clusterParam) swapAllowed() bool { return p.Kubelet["failSwapOn"] == false }

// componentDocuments returns the configuration files of the components that have settings in the request.
func (p *clusterParam) componentDocuments() []any {
	var out []any
	for _, part := range []struct {
		settings         map[string]any
		apiVersion, kind string
	}{{p.Kubelet, "kubelet.config.k8s.io/v1beta1", "KubeletConfiguration"}, {p.KubeProxy, "kubeproxy.config.k8s.io/v1alpha1", "KubeProxyConfiguration"}} {
		if len(part.settings) == 0 {
			continue
		}
		document, _ := plain(part.settings).(map[string]any)
		document["apiVersion"], document["kind"] = part.apiVersion, part.kind
		out = append(out, document)
	}
	return out
}

// plain copies decoded JSON and replaces json.Number by Go's number types, which YAML writes as numbers.
func plain(v any) any {
	switch t := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for key, value := range t {
			out[key] = plain(value)
		}
		return out
	case []any:
		out := make([]any, len(t))
		for i, value := range t {
			out[i] = plain(value)
		}
		return out
	case json.Number:
		if n, err := t.Int64(); err == nil {
			return n
		}
		if f, err := t.Float64(); err == nil {
			return f
		}
		return t.String()
	default:
		return v
	}
}

// oldestMinor is the first version of Kubernetes whose kubeadm reads v1beta3.
const oldestMinor = 22

// newestMinor is the newest version of Kubernetes with which the driver's files are tested.
const newestMinor = 37

// warnVersion logs a warning for a new cluster with a version of Kubernetes that the driver was not tested with.
func (p *parameters) warnVersion(ctx context.Context, op *vnflcm.Operation) {
	c := &p.Cluster
	if op.Kind == vnflcm.OpInstantiate && c.ScriptPath == "" && kubeversion.Minor(c.KubernetesVersion) > newestMinor {
		op.Log.WarnContext(ctx, fmt.Sprintf("the driver is not tested with this version of Kubernetes: it is up to 1.%d", newestMinor),
			"attribute", clusterPath+".kubernetes_version", "value", c.KubernetesVersion)
	}
}

func (c *checker) version(text string) {
	switch v, ok := kubeversion.Parse(text); {
	case !ok:
		c.Fault("kubernetes_version", text, "must be a full version such as "+clusterparam.Defaults.KubernetesVersion)
	case v.Major != 1 || v.Minor < oldestMinor:
		c.Fault("kubernetes_version", text, fmt.Sprintf("is not supported: 1.%d.0 and later versions 1 are", oldestMinor))
	}
}

// apiEndpoint checks api_endpoint, the address of a load balancer outside of the VNF.
func (c *checker) apiEndpoint(p *clusterParam) {
	if p.APIEndpoint == "" {
		return
	}
	if _, _, ok := splitEndpoint(p.APIEndpoint); !ok {
		c.Fault("api_endpoint", p.APIEndpoint, "must be a host name or address, with or without a port: lb.example.org:6443, [2001:db8::1]:6443")
	}
	if p.ScriptPath != "" {
		c.Fault("api_endpoint", p.APIEndpoint, "has no effect with script_path: the script sets up the endpoint")
	}
}

// splitEndpoint splits an endpoint into host and port. The host is a DNS name or an address without brackets. port is "" if
// the text has none.
func splitEndpoint(text string) (host, port string, ok bool) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = strings.TrimSuffix(strings.TrimPrefix(text, "["), "]"), ""
		if strings.ContainsAny(host, "[]") || len(host) != len(text) && len(host) != len(text)-2 {
			return "", "", false
		}
	} else if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port {
		return "", "", false
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.String(), port, addr.Zone() == "" && !addr.IsUnspecified()
	}
	return host, port, len(host) <= 253 && prefixForm.MatchString(host)
}
