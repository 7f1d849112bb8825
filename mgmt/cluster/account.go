package cluster

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Account is a service account with which other programs access the cluster.
type Account struct {
	Namespace, Name string
	// ClusterRole is the role of the account; it must exist.
	ClusterRole string
	// TokenLife makes it a token that ends by itself (TokenRequest; the API server takes 10 minutes at least, and
	// may shorten it). Default: a token in a Secret, which ends when the account is removed.
	TokenLife time.Duration
}

// Credentials of an account.
type Credentials struct {
	Token   string
	CA      string    // PEM: verifies the API server
	Expires time.Time // zero if the token does not end by itself
	// Life is how long the API server makes the token valid, which may be less than TokenLife.
	Life time.Duration
}

// ErrNoClusterRole reports that the ClusterRole of an account does not exist in the cluster.
var ErrNoClusterRole = errors.New("cluster: there is no such ClusterRole")

func object(apiVersion, kind, namespace, name string) unstructured.Unstructured {
	o := unstructured.Unstructured{Object: map[string]any{"apiVersion": apiVersion, "kind": kind}}
	o.SetName(name)
	o.SetNamespace(namespace)
	return o
}

const (
	accountSecretType = "kubernetes.io/service-account-token" //nolint:gosec // the name of a type
	accountAnnotation = "kubernetes.io/service-account.name"
)

// EnsureAccount creates the account, or updates it to match a. It returns its credentials. It retries errors that may
// pass until ctx ends, as Apply does.
func (c *Cluster[R]) EnsureAccount(ctx context.Context, a Account) (out Credentials, err error) {
	err = c.poll(ctx, "the service account "+a.Name, func(ctx context.Context, s *session) error {
		out, err = s.ensureAccount(ctx, a)
		return permanent(err)
	})
	return out, err
}

func (s *session) ensureAccount(ctx context.Context, a Account) (Credentials, error) {
	if _, err := s.Objects(named["clusterrole"], "").Get(ctx, a.ClusterRole, metav1.GetOptions{}); apierrors.IsNotFound(err) {
		return Credentials{}, permanentError{fmt.Errorf("%w: %s", ErrNoClusterRole, a.ClusterRole)}
	} else if err != nil {
		return Credentials{}, err
	}
	if err := s.apply(ctx, object("v1", "ServiceAccount", a.Namespace, a.Name)); err != nil {
		return Credentials{}, err
	}
	if err := s.bind(ctx, a); err != nil {
		return Credentials{}, err
	}
	if a.TokenLife == 0 {
		return s.secretToken(ctx, a)
	}
	if err := s.delete(ctx, secretKind, a.Namespace, a.Name); err != nil { // a token that does not end
		return Credentials{}, err
	}
	return s.requestToken(ctx, a)
}

// RequestToken requests a new token that expires, for an account that EnsureAccount has created. It changes nothing
// else. It asks one control-plane node after the other.
func (c *Cluster[R]) RequestToken(ctx context.Context, a Account) (out Credentials, err error) {
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		out, err = s.requestToken(ctx, a)
		return err
	})
	return out, err
}

// bind gives the account its role. A binding to another role is recreated, because it cannot be changed.
func (s *session) bind(ctx context.Context, a Account) error {
	bindings := named["clusterrolebinding"]
	old, err := s.Objects(bindings, "").Get(ctx, a.Name, metav1.GetOptions{})
	if err == nil {
		if role, _, _ := unstructured.NestedString(old.Object, "roleRef", "name"); role != a.ClusterRole {
			err = s.delete(ctx, bindings, "", a.Name)
		}
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	binding := object(rbacGroup+"/v1", "ClusterRoleBinding", "", a.Name)
	binding.Object["roleRef"] = map[string]any{"apiGroup": rbacGroup, "kind": "ClusterRole", "name": a.ClusterRole}
	binding.Object["subjects"] = []any{map[string]any{"kind": "ServiceAccount", "namespace": a.Namespace, "name": a.Name}}
	return s.apply(ctx, binding)
}

// secretToken has the cluster fill a Secret with a token for the account.
func (s *session) secretToken(ctx context.Context, a Account) (Credentials, error) {
	wanted := object("v1", "Secret", a.Namespace, a.Name)
	wanted.SetAnnotations(map[string]string{accountAnnotation: a.Name})
	wanted.Object["type"] = accountSecretType
	if err := s.apply(ctx, wanted); err != nil {
		return Credentials{}, err
	}
	secret, err := s.Objects(secretKind, a.Namespace).Get(ctx, a.Name, metav1.GetOptions{})
	if err != nil {
		return Credentials{}, err
	}
	encoded, _, _ := unstructured.NestedString(secret.Object, "data", "token")
	token, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(token) == 0 {
		return Credentials{}, errors.New("cluster: its Secret has no token yet")
	}
	return Credentials{Token: string(token), CA: string(s.ca)}, nil
}

// requestToken asks for a token that ends by itself.
func (s *session) requestToken(ctx context.Context, a Account) (Credentials, error) {
	request := object("authentication.k8s.io/v1", "TokenRequest", a.Namespace, a.Name)
	request.Object["spec"] = map[string]any{"expirationSeconds": int64(a.TokenLife / time.Second)}
	answer, err := s.Objects(accountKind, a.Namespace).Create(ctx, &request, metav1.CreateOptions{}, "token")
	if err != nil {
		return Credentials{}, err
	}
	token, _, _ := unstructured.NestedString(answer.Object, "status", "token")
	expires, _, _ := unstructured.NestedString(answer.Object, "status", "expirationTimestamp")
	life, _, _ := unstructured.NestedInt64(answer.Object, "spec", "expirationSeconds")
	end, err := time.Parse(time.RFC3339, expires)
	if err != nil || token == "" || life <= 0 {
		return Credentials{}, errors.New("cluster: the API server has issued no token")
	}
	return Credentials{Token: token, CA: string(s.ca), Expires: end, Life: time.Duration(life) * time.Second}, nil
}

// RemoveAccount removes the account and the objects that were created with it. Its tokens become invalid.
func (c *Cluster[R]) RemoveAccount(ctx context.Context, a Account) error {
	return c.on(ctx, func(ctx context.Context, s *session) error {
		return errors.Join(
			s.delete(ctx, secretKind, a.Namespace, a.Name),
			s.delete(ctx, named["clusterrolebinding"], "", a.Name),
			s.delete(ctx, accountKind, a.Namespace, a.Name))
	})
}
