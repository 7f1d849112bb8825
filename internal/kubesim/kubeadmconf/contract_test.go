package kubeadmconf_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
)

const (
	initDoc = `apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
bootstrapTokens:
- {token: abcdef.0123456789abcdef, ttl: 1m0s}
nodeRegistration: {name: m1, criSocket: "unix:///run/containerd/containerd.sock"}
localAPIEndpoint: {advertiseAddress: 10.0.0.1}
`
	clusterDoc = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.35.4
controlPlaneEndpoint: 10.0.0.1:6443
networking: {podSubnet: 10.244.0.0/16, serviceSubnet: 10.96.0.0/16}
apiServer: {certSANs: [10.0.0.1]}
`
	hash    = "abababababababababababababababababababababababababababababababab"
	joinDoc = `apiVersion: kubeadm.k8s.io/v1beta4
kind: JoinConfiguration
discovery:
  bootstrapToken: {apiServerEndpoint: "10.0.0.1:6443", token: abcdef.0123456789abcdef, caCertHashes: ["sha256:` + hash + `"]}
nodeRegistration: {name: w1, criSocket: "unix:///run/containerd/containerd.sock"}
`
	controlPlane = `controlPlane: {localAPIEndpoint: {advertiseAddress: 10.0.0.2}, certificateKey: "` + hash + `"}
`
	kubelet = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
`
)

// question is a file, and a part of the message with which kubeadm refuses it, "" if kubeadm takes it.
type question struct{ name, file, want string }

// of replaces a part of a file.
func of(file, old, text string) string {
	if !strings.Contains(file, old) {
		panic(old)
	}
	return strings.Replace(file, old, text, 1)
}

func inInit(old, text string) string    { return of(initDoc, old, text) + "---\n" + clusterDoc }
func inCluster(old, text string) string { return of(clusterDoc, old, text) }
func inJoin(old, text string) string    { return of(joinDoc, old, text) }

var questions = []question{
	{"init and cluster", initDoc + "---\n" + clusterDoc, ""},
	{"join", joinDoc, ""},
	{"join of a control-plane node", joinDoc + controlPlane, ""},
	{"nothing", "", ""},

	{"text", "hello", "could not interpret GroupVersionKind"},
	{"no kind", "apiVersion: kubeadm.k8s.io/v1beta4\n", "kind and apiVersion is mandatory information"},
	{"core kind", initDoc + "---\napiVersion: v1\nkind: ConfigMap\n", "kind and apiVersion is mandatory information"},
	{"unknown kind", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: Nope\n", "unknown configuration APIs"},
	{"old version", inInit("v1beta4", "v1beta2"), `uses an old API spec: "kubeadm.k8s.io/v1beta2"`},
	{"a kind twice", clusterDoc + "---\n" + clusterDoc, `kind "ClusterConfiguration" is specified twice`},
	{"unknown field of init", inInit("localAPIEndpoint", "colour: red\nlocalAPIEndpoint"), `unknown field "colour"`},
	{"unknown field of cluster", inCluster("networking", "colour: red\nnetworking"), `unknown field "colour"`},
	{"unknown field of join", joinDoc + "colour: red\n", `unknown field "colour"`},
	{"unknown field within", inInit("name: m1", "name: m1, label: a"), "unknown field"},

	{"arguments in a list", inInit("name: m1", "name: m1, kubeletExtraArgs: [{name: v, value: '2'}]"), ""},
	{"arguments in an object", inInit("name: m1", "name: m1, kubeletExtraArgs: {v: '2'}"), "json: cannot unmarshal object"},
	{"arguments of v1beta3 in an object", of(inInit("name: m1", "name: m1, kubeletExtraArgs: {v: '2'}"), "v1beta4", "v1beta3"), ""},
	{"arguments of v1beta3 in a list", of(inInit("name: m1", "name: m1, kubeletExtraArgs: [{name: v, value: '2'}]"), "v1beta4", "v1beta3"), "json: cannot unmarshal array"},
	{"upper case in a name", inInit("name: m1", "name: M1"), ""},
	{"long label in a name", inInit("name: m1", "name: "+strings.Repeat("a", 64)), ""},
	{"underscore in a name", inInit("name: m1", "name: m_1"), "nodeRegistration.name: Invalid value"},
	{"two dots in a name", inInit("name: m1", "name: a..b"), "nodeRegistration.name: Invalid value"},
	{"long name", inInit("name: m1", "name: "+strings.Repeat("a.", 128)+"a"), "nodeRegistration.name: Invalid value"},
	{"no taints", inInit("name: m1", "name: m1, taints: []"), ""},
	{"all checks ignored", inInit("name: m1", "name: m1, ignorePreflightErrors: [all]"), ""},

	{"token", inInit("abcdef.0123456789abcdef", "abc.def"), `the bootstrap token "abc.def" was not of the form`},
	{"token in upper case", inInit("abcdef.", "ABCDEF."), "was not of the form"},
	{"life of a token", inInit("1m0s", "soon"), `time: invalid duration "soon"`},
	{"use of a token", inInit("ttl: 1m0s", "ttl: 1m0s, usages: [all]"), "invalid bootstrap token usage string: all"},
	{"group of a token", inInit("ttl: 1m0s", "ttl: 1m0s, groups: [admins]"), `bootstrap group "admins" is invalid`},
	{"address is a name", inInit("advertiseAddress: 10.0.0.1", "advertiseAddress: here"), "must be ipv4 or ipv6 address"},
	{"IPv6 address", inInit("advertiseAddress: 10.0.0.1", "advertiseAddress: 'fd00::1'"), ""},
	{"port", inInit("advertiseAddress: 10.0.0.1", "advertiseAddress: 10.0.0.1, bindPort: 99999"), "localAPIEndpoint.bindPort"},

	{"validity of certificates", inCluster("networking", "certificateValidityPeriod: 10m\nnetworking"), ""},
	{"validity of certificates in v1beta3", of(inCluster("networking", "certificateValidityPeriod: 10m\nnetworking"), "v1beta4", "v1beta3"), `unknown field "certificateValidityPeriod"`},
	{"algorithm in v1beta3", of(inCluster("networking", "encryptionAlgorithm: RSA-2048\nnetworking"), "v1beta4", "v1beta3"), `unknown field "encryptionAlgorithm"`},

	{"endpoint without a port", inCluster("10.0.0.1:6443", "10.0.0.1"), ""},
	{"endpoint is a name", inCluster("10.0.0.1:6443", "api.example.com:6443"), ""},
	{"endpoint with IPv6", inCluster("10.0.0.1:6443", "'[fd00::1]:6443'"), ""},
	{"no endpoint", inCluster("controlPlaneEndpoint: 10.0.0.1:6443\n", ""), ""},
	{"endpoint with a space", inCluster("10.0.0.1:6443", "'a b:6443'"), "must be a valid IP address or a valid RFC-1123 DNS subdomain"},
	{"endpoint with a scheme", inCluster("10.0.0.1:6443", "https://10.0.0.1:6443"), "must be a valid IP address or a valid RFC-1123 DNS subdomain"},
	{"port of the endpoint", inCluster("10.0.0.1:6443", "10.0.0.1:99999"), "must be a valid number between 1 and 65535"},
	{"port 0 of the endpoint", inCluster("10.0.0.1:6443", "10.0.0.1:0"), "must be a valid number between 1 and 65535"},

	{"pods: an address", inCluster("10.244.0.0/16", "10.244.0.0"), "networking.podSubnet: Invalid value"},
	{"pods: host bits", inCluster("10.244.0.0/16", "10.244.0.1/16"), ""},
	{"pods: smallest", inCluster("10.244.0.0/16", "10.244.0.0/24"), ""},
	{"pods: too small", inCluster("10.244.0.0/16", "10.244.0.0/25"), "is smaller than the size of node subnet with mask 24"},
	{"pods: largest", inCluster("10.244.0.0/16", "10.0.0.0/8"), ""},
	{"pods: too large", inCluster("10.244.0.0/16", "10.0.0.0/7"), "difference is greater than 16"},
	{"pods: two families", inCluster("10.244.0.0/16", "'10.244.0.0/16,fd00::/56'"), ""},
	{"pods: IPv6 too small", of(inCluster("10.244.0.0/16", "'fd01::/65'"), "10.96.0.0/16", "'fd02::/112'"), "is smaller than the size of node subnet with mask 64"},
	{"pods: none", inCluster("podSubnet: 10.244.0.0/16, ", ""), ""},
	{"services: text", inCluster("10.96.0.0/16", "x"), "networking.serviceSubnet: Invalid value"},
	{"services: smallest", inCluster("10.96.0.0/16", "10.96.0.0/28"), ""},
	{"services: too small", inCluster("10.96.0.0/16", "10.96.0.0/29"), "is too small, the minimum is 10"},
	{"services: largest", inCluster("10.96.0.0/16", "172.16.0.0/12"), ""},
	{"services: too large", inCluster("10.96.0.0/16", "172.0.0.0/11"), "specified service subnet is too large"},
	{"services: IPv6 too large", of(inCluster("10.96.0.0/16", "'fd02::/107'"), "10.244.0.0/16", "'fd01::/56'"), "the mask must be >= 108"},

	{"names of the API", inCluster("[10.0.0.1]", "[api.example.com, '*.example.com', 'fd00::1', API.example.com]"), ""},
	{"name of the API with a space", inCluster("[10.0.0.1]", "['a b']"), "apiServer.certSANs: Invalid value"},
	{"name of the API with an underscore", inCluster("[10.0.0.1]", "[a_b]"), "apiServer.certSANs: Invalid value"},

	{"join: no discovery", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n", "bootstrapToken or file must be set"},
	{"join: token", inJoin("abcdef.0123456789abcdef", "x"), "discovery.bootstrapToken.token: Invalid value"},
	{"join: no hash", inJoin(`caCertHashes: ["sha256:`+hash+`"]`, "caCertHashes: []"), "using token-based discovery without caCertHashes can be unsafe"},
	{"join: CA not verified", inJoin(`caCertHashes: ["sha256:`+hash+`"]`, "unsafeSkipCAVerification: true"), ""},
	{"join: endpoint without a port", inJoin("10.0.0.1:6443", "10.0.0.1"), "missing port in address"},
	{"join: name of the endpoint", inJoin("10.0.0.1:6443", "api.example.com:6443"), ""},
	{"join: name", inJoin("name: w1", "name: W_1"), "nodeRegistration.name: Invalid value"},
	{"join: short key", joinDoc + of(controlPlane, hash, "1234"), "the key must be an AES key of size 32"},
	{"join: key is not hexadecimal", joinDoc + of(controlPlane, hash, strings.Repeat("z", 64)), "certificate key decoding error"},
	{"join: address", joinDoc + of(controlPlane, "10.0.0.2", "here"), "must be ipv4 or ipv6 address"},
	{"join: limit", joinDoc + "timeouts: {etcdAPICall: 10m0s}\n", ""},
	{"join: limit without a unit", joinDoc + "timeouts: {etcdAPICall: ten}\n", `time: invalid duration "ten"`},
	{"join: limit in v1beta3", inJoin("v1beta4", "v1beta3") + "timeouts: {etcdAPICall: 10m0s}\n", `unknown field "timeouts"`},

	{"kubelet", kubelet + "maxPods: 20\n---\n" + initDoc + "---\n" + clusterDoc, ""},
	{"kubelet twice", kubelet + "---\n" + kubelet + "---\n" + clusterDoc, `kind "KubeletConfiguration" is specified twice`},
}

// TestContract asks the simulation, and the kubeadm that VNFKIT_KUBEADM names, the same questions.
func TestContract(t *testing.T) {
	programs := map[string]func(testing.TB, string) string{"simulated": func(_ testing.TB, file string) string {
		if _, err := kubeadmconf.Read([]byte(file)); err != nil {
			return err.Error()
		}
		return ""
	}}
	if program := os.Getenv("VNFKIT_KUBEADM"); program != "" {
		programs["real"] = func(t testing.TB, file string) string {
			name := filepath.Join(t.TempDir(), "kubeadm.yaml")
			if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(t.Context(), program, "config", "validate", "--config", name).CombinedOutput() //nolint:gosec // the person who runs the tests names it
			if err == nil {
				return ""
			}
			return string(out)
		}
	}
	for kind, ask := range programs {
		for _, q := range questions {
			t.Run(kind+"/"+q.name, func(t *testing.T) {
				t.Parallel()
				if got := ask(t, q.file); !strings.Contains(got, q.want) || got != "" && q.want == "" {
					t.Errorf("%q, want %q", got, q.want)
				}
			})
		}
	}
}
