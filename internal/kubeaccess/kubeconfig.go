package kubeaccess

import (
	"slices"
	"strings"

	api "k8s.io/client-go/tools/clientcmd/api/v1"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/internal/vimattributes"
)

// maxKubeconfig bytes: one with a certificate chain has a few ten thousand.
const maxKubeconfig = 1 << 20

// kubeconfig reads the content of a kubeconfig and returns its server. It refuses fields that would make this process
// read files, run programs, impersonate another user or use a proxy: the author of the text must not be able to do
// that.
func (id *identity) kubeconfig(a *vimattributes.Section, text string) (server string) {
	var k api.Config
	// No error is quoted: credentials are in the text.
	if len(text) > maxKubeconfig || yaml.UnmarshalStrict([]byte(text), &k) != nil {
		a.Fault("kubeconfig", "", "must be the text of a kubeconfig, without unknown and double keys")
		return ""
	}
	if id.Token != "" || id.Username != "" || id.Password != "" || id.Certificate != "" || id.Key != "" {
		a.Fault("kubeconfig", "", "holds credentials itself: leave out bearer_token, username, password, client_certificate and client_key")
		return ""
	}
	if len(k.Contexts) != 1 || k.CurrentContext != "" && k.CurrentContext != k.Contexts[0].Name {
		a.Fault("kubeconfig", "", "must have exactly one context, as `kubectl config view --minify --flatten` writes it")
		return ""
	}
	context := k.Contexts[0].Context
	cluster, user := clusterNamed(k.Clusters, context.Cluster), userNamed(k.AuthInfos, context.AuthInfo)
	if cluster == nil || user == nil {
		a.Fault("kubeconfig", "", "has not the cluster and the user that its context names")
		return ""
	}
	if refused := append(id.fromCluster(cluster), id.fromUser(user)...); len(refused) > 0 {
		a.Fault("kubeconfig", strings.Join(refused, ", "), "is not allowed in a kubeconfig here: only data that it holds itself")
		return ""
	}
	if id.Insecure != cluster.InsecureSkipTLSVerify && cluster.InsecureSkipTLSVerify {
		a.Fault("kubeconfig", "insecure-skip-tls-verify", "must be said with interfaceInfo.insecure_skip_tls_verify too")
	}
	if id.Token == "" && id.Username == "" && id.Certificate == "" {
		a.Fault("kubeconfig", "", "has no credentials")
	}
	if cluster.Server == "" {
		a.Fault("kubeconfig", "", "has no server")
	}
	id.Namespace = context.Namespace
	return cluster.Server
}

// fromCluster returns the refused fields.
func (id *identity) fromCluster(c *api.Cluster) (refused []string) {
	if c.CertificateAuthority != "" {
		refused = append(refused, "certificate-authority")
	}
	if c.ProxyURL != "" {
		refused = append(refused, "proxy-url")
	}
	id.CA = string(c.CertificateAuthorityData)
	if id.ServerName == "" {
		id.ServerName = c.TLSServerName
	}
	return refused
}

// fromUser returns the refused fields.
func (id *identity) fromUser(u *api.AuthInfo) (refused []string) {
	for name, given := range map[string]bool{
		"client-certificate": u.ClientCertificate != "", "client-key": u.ClientKey != "", "tokenFile": u.TokenFile != "",
		"exec": u.Exec != nil, "auth-provider": u.AuthProvider != nil,
		"as": u.Impersonate != "" || u.ImpersonateUID != "" || len(u.ImpersonateGroups) > 0 || len(u.ImpersonateUserExtra) > 0,
	} {
		if given {
			refused = append(refused, name)
		}
	}
	slices.Sort(refused)
	id.Token, id.Username, id.Password = u.Token, u.Username, u.Password
	id.Certificate, id.Key = string(u.ClientCertificateData), string(u.ClientKeyData)
	return refused
}

func clusterNamed(list []api.NamedCluster, name string) *api.Cluster {
	for i := range list {
		if list[i].Name == name {
			return &list[i].Cluster
		}
	}
	return nil
}

func userNamed(list []api.NamedAuthInfo, name string) *api.AuthInfo {
	for i := range list {
		if list[i].Name == name {
			return &list[i].AuthInfo
		}
	}
	return nil
}
