package kubeconfig_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/vnfkit/vnfkit/examples/internal/kubeconfig"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOf checks that the Kubernetes client can read the kubeconfig for each form of an entry.
func TestOf(t *testing.T) {
	t.Parallel()
	const whole = "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: [{name: c, cluster: {server: 'https://h:1'}}]\nusers: [{name: c, user: {token: t}}]\n" +
		"contexts: [{name: c, context: {cluster: c, user: c}}]\n"
	for name, c := range map[string]struct {
		at, access string
		want       []string // host, token, user, password, CA, certificate, key
	}{
		"registered by an operation": {`{}`, `{"auth_url": "https://10.0.0.1:6443", "bearer_token": "t: #'\"", "ssl_ca_cert": "-----BEGIN\n"}`,
			[]string{"https://10.0.0.1:6443", "t: #'\"", "", "", "-----BEGIN\n", "", ""}},
		"version 2":   {`{"endpoint": "https://h:1", "ssl_ca_cert": "ca"}`, `{"bearer_token": "t"}`, []string{"https://h:1", "t", "", "", "ca", "", ""}},
		"password":    {`{"endpoint": "https://h:1"}`, `{"username": "u", "password": "p"}`, []string{"https://h:1", "", "u", "p", "", "", ""}},
		"certificate": {`{"endpoint": "https://h:1"}`, `{"client_certificate": "cert", "client_key": "key"}`, []string{"https://h:1", "", "", "", "", "cert", "key"}},
		"kubeconfig":  {`{}`, `{"kubeconfig": ` + quoted(whole) + `}`, []string{"https://h:1", "t", "", "", "", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, err1 := vnflcm.ParseParams([]byte(c.at))
			access, err2 := vnflcm.ParseParams([]byte(c.access))
			text, err3 := kubeconfig.Of(vnflcm.VimConnectionInfo{InterfaceInfo: at, AccessInfo: access}, "edge")
			if err1 != nil || err2 != nil || err3 != nil {
				t.Fatal(err1, err2, err3)
			}
			config, err := clientcmd.RESTConfigFromKubeConfig(text)
			if err != nil {
				t.Fatal(err)
			}
			got := []string{config.Host, config.BearerToken, config.Username, config.Password, string(config.CAData), string(config.CertData), string(config.KeyData)}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := kubeconfig.Of(vnflcm.VimConnectionInfo{}, "edge"); err == nil {
		t.Error("an entry without an address has a kubeconfig")
	}
}

func quoted(text string) string { return `"` + strings.ReplaceAll(text, "\n", `\n`) + `"` }
