package controlplane

import (
	"context"
	"net/netip"
	"time"

	core "k8s.io/api/core/v1"
	rbac "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"
)

// Server returns the URL of the API server.
func (c *Cluster) Server() string { return "https://" + netip.AddrPortFrom(c.Address, 6443).String() }

// CA returns the certificate, as PEM, of the authority that has signed the API server's certificate.
func (c *Cluster) CA() []byte { return c.ca }

// Token returns the token of a user with all rights.
func (c *Cluster) Token() string { return c.token }

// Client returns a configuration for client-go with the token of Token and without a rate limit. Each call returns a new
// configuration.
func (c *Cluster) Client() *rest.Config {
	return &rest.Config{Host: c.Server(), BearerToken: c.token, TLSClientConfig: rest.TLSClientConfig{CAData: c.ca}, QPS: -1}
}

// Kubeconfig returns the configuration as the content of a kubeconfig file.
func Kubeconfig(c *rest.Config) []byte {
	named := func(key string, value map[string]any) []any {
		return []any{map[string]any{"name": "e2e", key: value}}
	}
	text, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Config", "current-context": "e2e",
		"clusters": named("cluster", map[string]any{"server": c.Host, "certificate-authority-data": c.CAData}),
		"users":    named("user", map[string]any{"token": c.BearerToken}),
		"contexts": named("context", map[string]any{"cluster": "e2e", "user": "e2e"})})
	if err != nil {
		panic(err) // cannot happen with these values
	}
	return text
}

// issuer of the tokens of service accounts.
const issuer = "https://kubernetes.default.svc"

// TokenUntil returns a token of the service account name in the namespace default. The token is valid until end, which may
// be in the past. TokenUntil creates the service account, with all rights, if it does not exist.
func (c *Cluster) TokenUntil(ctx context.Context, name string, end time.Time) (string, error) {
	client, err := kubernetes.NewForConfig(c.Client())
	if err != nil {
		return "", err
	}
	account, err := client.CoreV1().ServiceAccounts("default").Create(ctx, &core.ServiceAccount{ObjectMeta: meta.ObjectMeta{Name: name}}, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		account, err = client.CoreV1().ServiceAccounts("default").Get(ctx, name, meta.GetOptions{})
	}
	if err != nil {
		return "", err
	}
	if err := allow(ctx, client, name); err != nil {
		return "", err
	}
	began := end.Add(-time.Hour)
	return jwt(c.tokens, map[string]any{"iss": issuer, "aud": []string{issuer}, "sub": "system:serviceaccount:default:" + name,
		"iat": began.Unix(), "nbf": began.Unix(), "exp": end.Unix(),
		"kubernetes.io": map[string]any{"namespace": "default", "serviceaccount": map[string]any{"name": name, "uid": account.UID}}})
}

// allow gives a service account of the namespace default all rights.
func allow(ctx context.Context, client kubernetes.Interface, name string) error {
	_, err := client.RbacV1().ClusterRoleBindings().Create(ctx, &rbac.ClusterRoleBinding{ObjectMeta: meta.ObjectMeta{Name: "e2e-" + name},
		RoleRef:  rbac.RoleRef{APIGroup: rbac.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbac.Subject{{Kind: rbac.ServiceAccountKind, Namespace: "default", Name: name}}}, meta.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}
