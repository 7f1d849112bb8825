package kubeaccess

import (
	api "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"
)

// NodeConfig is a kubeconfig with one cluster and one user, as kubeadm writes it on nodes.
type NodeConfig struct {
	Server               string
	CA, Certificate, Key []byte // PEM
}

// ReadNodeConfig reads a kubeconfig. It ignores fields that would make this process read files or run programs, which the author of the
// file must not be able to do. ok is false for another text; the reason is left out, because it may quote a key.
func ReadNodeConfig(text []byte) (c NodeConfig, ok bool) {
	var k api.Config
	if yaml.Unmarshal(text, &k) != nil || len(k.Clusters) != 1 || len(k.AuthInfos) != 1 {
		return NodeConfig{}, false
	}
	cluster, user := k.Clusters[0].Cluster, k.AuthInfos[0].AuthInfo
	return NodeConfig{cluster.Server, cluster.CertificateAuthorityData, user.ClientCertificateData, user.ClientKeyData}, true
}
