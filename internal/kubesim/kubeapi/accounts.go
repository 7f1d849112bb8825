package kubeapi

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
)

// issued is a token of a service account that ends by itself.
type issued struct {
	Account string    `json:"account"` // as rolesOf takes it
	Expires time.Time `json:"expires"`
}

const (
	accountSecretType = "kubernetes.io/service-account-token" //nolint:gosec // the name of a type
	accountAnnotation = "kubernetes.io/service-account.name"
	tokenSecret       = "bootstrap-token-" // begins the names of the Secrets of bootstrap tokens
)

// userOf is the user name of a service account.
func userOf(namespace, name string) string { return "system:serviceaccount:" + namespace + ":" + name }

// fillToken does the work of the token controller for a new Secret of a service account.
func (q *request) fillToken(o Object) error {
	name := Text(o, "metadata", "annotations", accountAnnotation)
	if _, exists := q.c.Objects["ServiceAccount/"+q.path.namespace+"/"+name]; !exists {
		return q.invalid(fmt.Sprintf("metadata.annotations[%s]: Invalid value: %q", accountAnnotation, name))
	}
	o["data"] = Object{"token": encode("token-" + rand.Text()), "ca.crt": encode(q.c.CA), "namespace": encode(q.path.namespace)}
	return nil
}

// deleteTokens takes the tokens of an account with it.
func (c *Cluster) deleteTokens(namespace, name string) {
	for _, key := range slices.Sorted(maps.Keys(c.Objects)) {
		var o Object
		if strings.HasPrefix(key, "Secret/"+namespace+"/") && json.Unmarshal(c.Objects[key], &o) == nil &&
			Text(o, "type") == accountSecretType && Text(o, "metadata", "annotations", accountAnnotation) == name {
			c.drop(key)
		}
	}
	maps.DeleteFunc(c.Issued, func(_ string, t issued) bool { return t.Account == userOf(namespace, name) })
}

// accountOf finds the service account of a token.
func (c *Cluster) accountOf(token string, now time.Time) string {
	if t, known := c.Issued[token]; known && t.Expires.After(now) {
		return t.Account
	}
	for key, raw := range c.Objects {
		var o Object
		if !strings.HasPrefix(key, "Secret/") || json.Unmarshal(raw, &o) != nil || Text(o, "type") != accountSecretType {
			continue
		}
		if data, err := base64.StdEncoding.DecodeString(Text(o, "data", "token")); err == nil && len(data) > 0 && string(data) == token {
			return userOf(Text(o, "metadata", "namespace"), Text(o, "metadata", "annotations", accountAnnotation))
		}
	}
	return ""
}

// rolesOf lists the cluster roles of a service account.
func (c *Cluster) rolesOf(user string) (roles []string) {
	for key, raw := range c.Objects {
		var o Object
		if !strings.HasPrefix(key, "ClusterRoleBinding/") || json.Unmarshal(raw, &o) != nil {
			continue
		}
		subjects, _ := o["subjects"].([]any)
		if slices.ContainsFunc(subjects, func(s any) bool {
			return Text(s, "kind") == "ServiceAccount" && userOf(Text(s, "namespace"), Text(s, "name")) == user
		}) {
			roles = append(roles, Text(o, "roleRef", "name"))
		}
	}
	return roles
}

// requestToken answers a TokenRequest (authentication.k8s.io/v1).
func (q *request) requestToken() (any, error) {
	var request struct {
		Spec struct {
			ExpirationSeconds *int64 `json:"expirationSeconds"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(q.body, &request); err != nil {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "%v", err)
	}
	seconds := int64(3600)
	if request.Spec.ExpirationSeconds != nil {
		seconds = *request.Spec.ExpirationSeconds
	}
	if seconds < 600 {
		return nil, q.invalid("spec.expirationSeconds: Invalid value: may not specify a duration less than 10 minutes")
	}
	token, expires := "issued-"+rand.Text(), q.c.Host.Now().Add(time.Duration(seconds)*time.Second)
	q.c.Issued[token] = issued{userOf(q.path.namespace, q.path.name), expires}
	return Object{"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1", "metadata": Object{"name": q.path.name, "namespace": q.path.namespace},
		"spec": Object{"expirationSeconds": seconds}, "status": Object{"token": token, "expirationTimestamp": expires.UTC().Format(time.RFC3339)}}, nil
}

// tokenSecret is the Secret of a bootstrap token, without the secret part, which no client reads here.
func (c *Cluster) tokenSecret(name string) (Object, bool) {
	for token := range c.Tokens {
		if id, _, _ := strings.Cut(token, "."); tokenSecret+id == name {
			return Object{"kind": "Secret", "apiVersion": "v1", "type": "bootstrap.kubernetes.io/token",
				"metadata": Object{"name": name, "namespace": "kube-system"}, "data": Object{"token-id": encode(id)}}, true
		}
	}
	return nil, false
}
