package cluster

import (
	"bytes"
	"context"
	"errors"
	"text/template"
)

// Account is a service account with which others reach the cluster.
type Account struct {
	Namespace, Name string
	ClusterRole     string // what it may do
}

// Credentials of an account.
type Credentials struct {
	Token string // long-lived: it ends when the account is removed
	CA    string // PEM
}

// accountManifest has constants in it only: Account is never filled from a request.
var accountManifest = template.Must(template.New("account").Parse(`apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{.Name}}
  namespace: {{.Namespace}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{.Name}}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: ClusterRole
  name: {{.ClusterRole}}
subjects:
- kind: ServiceAccount
  name: {{.Name}}
  namespace: {{.Namespace}}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{.Name}}
  namespace: {{.Namespace}}
  annotations:
    kubernetes.io/service-account.name: {{.Name}}
type: kubernetes.io/service-account-token
`))

// EnsureAccount makes the account if it is not there and returns its credentials.
func (c *Cluster[R]) EnsureAccount(ctx context.Context, a Account) (Credentials, error) {
	var manifest bytes.Buffer
	if err := accountManifest.Execute(&manifest, a); err != nil {
		return Credentials{}, err
	}
	if err := c.Apply(ctx, manifest.Bytes()); err != nil {
		return Credentials{}, err
	}
	var out Credentials
	err := poll(ctx, "the token of the service account", func() error {
		var secret struct {
			Data map[string]string `json:"data"`
		}
		if _, err := c.getJSON(ctx, &secret, "-n", a.Namespace, "secret", a.Name); err != nil {
			return err
		}
		var err1, err2 error
		out.Token, err1 = decodeSecret(secret.Data, "token")
		out.CA, err2 = decodeSecret(secret.Data, "ca.crt")
		return errors.Join(err1, err2)
	})
	return out, err
}

// RemoveAccount removes the account and what was made with it.
func (c *Cluster[R]) RemoveAccount(ctx context.Context, a Account) error {
	return errors.Join(
		c.Delete(ctx, a.Namespace, "secret", a.Name),
		c.Delete(ctx, a.Namespace, "clusterrolebinding", a.Name),
		c.Delete(ctx, a.Namespace, "serviceaccount", a.Name))
}
