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

// question is a file, which kubeadm takes or refuses.
type question struct {
	name, file string
	refused    bool
}

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
	{"init and cluster", initDoc + "---\n" + clusterDoc, false},
	{"join", joinDoc, false},
	{"join of a control-plane node", joinDoc + controlPlane, false},
	{"nothing", "", false},

	{"text", "hello", true},
	{"no kind", "apiVersion: kubeadm.k8s.io/v1beta4\n", true},
	{"core kind", initDoc + "---\napiVersion: v1\nkind: ConfigMap\n", true},
	{"unknown kind", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: Nope\n", true},
	{"old version", inInit("v1beta4", "v1beta2"), true},
	{"a kind twice", clusterDoc + "---\n" + clusterDoc, true},
	{"unknown field of init", inInit("localAPIEndpoint", "colour: red\nlocalAPIEndpoint"), true},
	{"unknown field of cluster", inCluster("networking", "colour: red\nnetworking"), true},
	{"unknown field of join", joinDoc + "colour: red\n", true},
	{"unknown field within", inInit("name: m1", "name: m1, label: a"), true},

	{"arguments in a list", inInit("name: m1", "name: m1, kubeletExtraArgs: [{name: v, value: '2'}]"), false},
	{"arguments in an object", inInit("name: m1", "name: m1, kubeletExtraArgs: {v: '2'}"), true},
	{"arguments of v1beta3 in an object", of(inInit("name: m1", "name: m1, kubeletExtraArgs: {v: '2'}"), "v1beta4", "v1beta3"), false},
	{"arguments of v1beta3 in a list", of(inInit("name: m1", "name: m1, kubeletExtraArgs: [{name: v, value: '2'}]"), "v1beta4", "v1beta3"), true},
	{"upper case in a name", inInit("name: m1", "name: M1"), false},
	{"long label in a name", inInit("name: m1", "name: "+strings.Repeat("a", 64)), false},
	{"underscore in a name", inInit("name: m1", "name: m_1"), true},
	{"two dots in a name", inInit("name: m1", "name: a..b"), true},
	{"long name", inInit("name: m1", "name: "+strings.Repeat("a.", 128)+"a"), true},
	{"no taints", inInit("name: m1", "name: m1, taints: []"), false},
	{"all checks ignored", inInit("name: m1", "name: m1, ignorePreflightErrors: [all]"), false},

	{"token", inInit("abcdef.0123456789abcdef", "abc.def"), true},
	{"token in upper case", inInit("abcdef.", "ABCDEF."), true},
	{"life of a token", inInit("1m0s", "soon"), true},
	{"use of a token", inInit("ttl: 1m0s", "ttl: 1m0s, usages: [all]"), true},
	{"group of a token", inInit("ttl: 1m0s", "ttl: 1m0s, groups: [admins]"), true},
	{"address is a name", inInit("advertiseAddress: 10.0.0.1", "advertiseAddress: here"), true},
	{"IPv6 address", inInit("advertiseAddress: 10.0.0.1", "advertiseAddress: 'fd00::1'"), false},
	{"port", inInit("advertiseAddress: 10.0.0.1", "advertiseAddress: 10.0.0.1, bindPort: 99999"), true},

	{"validity of certificates", inCluster("networking", "certificateValidityPeriod: 10m\nnetworking"), false},
	{"validity of certificates in v1beta3", of(inCluster("networking", "certificateValidityPeriod: 10m\nnetworking"), "v1beta4", "v1beta3"), true},
	{"algorithm in v1beta3", of(inCluster("networking", "encryptionAlgorithm: RSA-2048\nnetworking"), "v1beta4", "v1beta3"), true},

	{"endpoint without a port", inCluster("10.0.0.1:6443", "10.0.0.1"), false},
	{"endpoint is a name", inCluster("10.0.0.1:6443", "api.example.com:6443"), false},
	{"endpoint with IPv6", inCluster("10.0.0.1:6443", "'[fd00::1]:6443'"), false},
	{"no endpoint", inCluster("controlPlaneEndpoint: 10.0.0.1:6443\n", ""), false},
	{"endpoint with a space", inCluster("10.0.0.1:6443", "'a b:6443'"), true},
	{"endpoint with a scheme", inCluster("10.0.0.1:6443", "https://10.0.0.1:6443"), true},
	{"port of the endpoint", inCluster("10.0.0.1:6443", "10.0.0.1:99999"), true},
	{"port 0 of the endpoint", inCluster("10.0.0.1:6443", "10.0.0.1:0"), true},

	{"pods: an address", inCluster("10.244.0.0/16", "10.244.0.0"), true},
	{"pods: host bits", inCluster("10.244.0.0/16", "10.244.0.1/16"), false},
	{"pods: smallest", inCluster("10.244.0.0/16", "10.244.0.0/24"), false},
	{"pods: too small", inCluster("10.244.0.0/16", "10.244.0.0/25"), true},
	{"pods: largest", inCluster("10.244.0.0/16", "10.0.0.0/8"), false},
	{"pods: too large", inCluster("10.244.0.0/16", "10.0.0.0/7"), true},
	{"pods: two families", inCluster("10.244.0.0/16", "'10.244.0.0/16,fd00::/56'"), false},
	{"pods: IPv6 too small", of(inCluster("10.244.0.0/16", "'fd01::/65'"), "10.96.0.0/16", "'fd02::/112'"), true},
	{"pods: none", inCluster("podSubnet: 10.244.0.0/16, ", ""), false},
	{"services: text", inCluster("10.96.0.0/16", "x"), true},
	{"services: smallest", inCluster("10.96.0.0/16", "10.96.0.0/28"), false},
	{"services: too small", inCluster("10.96.0.0/16", "10.96.0.0/29"), true},
	{"services: largest", inCluster("10.96.0.0/16", "172.16.0.0/12"), false},
	{"services: too large", inCluster("10.96.0.0/16", "172.0.0.0/11"), true},
	{"services: IPv6 too large", of(inCluster("10.96.0.0/16", "'fd02::/107'"), "10.244.0.0/16", "'fd01::/56'"), true},

	{"names of the API", inCluster("[10.0.0.1]", "[api.example.com, '*.example.com', 'fd00::1', API.example.com]"), false},
	{"name of the API with a space", inCluster("[10.0.0.1]", "['a b']"), true},
	{"name of the API with an underscore", inCluster("[10.0.0.1]", "[a_b]"), true},

	{"join: no discovery", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n", true},
	{"join: token", inJoin("abcdef.0123456789abcdef", "x"), true},
	{"join: no hash", inJoin(`caCertHashes: ["sha256:`+hash+`"]`, "caCertHashes: []"), true},
	{"join: CA not verified", inJoin(`caCertHashes: ["sha256:`+hash+`"]`, "unsafeSkipCAVerification: true"), false},
	{"join: endpoint without a port", inJoin("10.0.0.1:6443", "10.0.0.1"), true},
	{"join: name of the endpoint", inJoin("10.0.0.1:6443", "api.example.com:6443"), false},
	{"join: name", inJoin("name: w1", "name: W_1"), true},
	{"join: short key", joinDoc + of(controlPlane, hash, "1234"), true},
	{"join: key is not hexadecimal", joinDoc + of(controlPlane, hash, strings.Repeat("z", 64)), true},
	{"join: address", joinDoc + of(controlPlane, "10.0.0.2", "here"), true},
	{"join: limit", joinDoc + "timeouts: {etcdAPICall: 10m0s}\n", false},
	{"join: limit without a unit", joinDoc + "timeouts: {etcdAPICall: ten}\n", true},
	{"join: limit in v1beta3", inJoin("v1beta4", "v1beta3") + "timeouts: {etcdAPICall: 10m0s}\n", true},

	{"kubelet", kubelet + "maxPods: 20\n---\n" + initDoc + "---\n" + clusterDoc, false},
	{"kubelet twice", kubelet + "---\n" + kubelet + "---\n" + clusterDoc, true},
}

// TestContract asks the simulation, and the kubeadm that VNFKIT_KUBEADM names, whether they refuse the same files.
func TestContract(t *testing.T) {
	programs := map[string]func(testing.TB, string) error{"simulated": func(_ testing.TB, file string) error {
		_, err := kubeadmconf.Read([]byte(file))
		return err
	}}
	if program := os.Getenv("VNFKIT_KUBEADM"); program != "" {
		programs["real"] = func(t testing.TB, file string) error {
			name := filepath.Join(t.TempDir(), "kubeadm.yaml")
			if err := os.WriteFile(name, []byte(file), 0o600); err != nil {
				t.Fatal(err)
			}
			return exec.CommandContext(t.Context(), program, "config", "validate", "--config", name).Run() //nolint:gosec // the person who runs the tests names it
		}
	}
	for kind, ask := range programs {
		for _, q := range questions {
			t.Run(kind+"/"+q.name, func(t *testing.T) {
				t.Parallel()
				if err := ask(t, q.file); (err != nil) != q.refused {
					t.Errorf("%v, want refused %t", err, q.refused)
				}
			})
		}
	}
}
