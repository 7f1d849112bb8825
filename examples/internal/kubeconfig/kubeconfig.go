// Package kubeconfig makes kubeconfigs of entries of the registry of VIMs.
package kubeconfig

import (
	"cmp"
	"encoding/base64"
	"errors"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// attributes are those of interfaceInfo and accessInfo of a VIM that is a cluster.
type attributes struct {
	Endpoint    string        `json:"endpoint"`
	AuthURL     string        `json:"auth_url"` // of version 1 of Tacker's API
	CA          string        `json:"ssl_ca_cert"`
	Insecure    any           `json:"insecure_skip_tls_verify"`
	Token       vnflcm.Secret `json:"bearer_token"`
	Username    string        `json:"username"`
	Password    vnflcm.Secret `json:"password"`
	Certificate string        `json:"client_certificate"`
	Key         vnflcm.Secret `json:"client_key"`
	Kubeconfig  vnflcm.Secret `json:"kubeconfig"`
}

// Of returns a kubeconfig with the name for the cluster of an entry. It has the credentials of the entry in clear.
func Of(vim vnflcm.VimConnectionInfo, name string) ([]byte, error) {
	var at, access attributes
	_, err1 := vim.InterfaceInfo.Decode(&at)
	_, err2 := vim.AccessInfo.Decode(&access)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	if whole := access.Kubeconfig.Reveal(); whole != "" {
		return []byte(whole), nil
	}
	server := cmp.Or(at.Endpoint, at.AuthURL, access.AuthURL, access.Endpoint)
	if server == "" {
		return nil, errors.New("the entry of the VIM has no address of an API: its credentials are part of the program that uses it")
	}
	type entry = map[string]any
	cluster, user := entry{"server": server}, entry{}
	put := func(into entry, key string, value any, given bool) {
		if given {
			into[key] = value
		}
	}
	data := func(pem string) string { return base64.StdEncoding.EncodeToString([]byte(pem)) }
	ca := cmp.Or(at.CA, access.CA)
	put(cluster, "certificate-authority-data", data(ca), ca != "")
	put(cluster, "insecure-skip-tls-verify", true, at.Insecure == true || at.Insecure == "true" || at.Insecure == "True")
	put(user, "token", access.Token.Reveal(), !access.Token.IsZero())
	put(user, "username", access.Username, access.Username != "")
	put(user, "password", access.Password.Reveal(), !access.Password.IsZero())
	put(user, "client-certificate-data", data(access.Certificate), access.Certificate != "")
	put(user, "client-key-data", data(access.Key.Reveal()), !access.Key.IsZero())
	named := func(key string, content any) []entry { return []entry{{"name": name, key: content}} }
	return yaml.Marshal(entry{"apiVersion": "v1", "kind": "Config", "current-context": name,
		"clusters": named("cluster", cluster), "users": named("user", user),
		"contexts": named("context", entry{"cluster": name, "user": name})})
}
