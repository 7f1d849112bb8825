package cluster_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// status asks the API with a token, from outside, and returns the code of the answer.
func (s *site) status(c cluster.Credentials, method, path string) int {
	s.t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(c.CA)) {
		s.t.Fatalf("no CA: %q", c.CA)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			return s.world.Dialer("m1")(ctx, network, addr)
		}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(s.t.Context(), method, "https://10.0.0.1:6443"+path, strings.NewReader("{}"))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	answer, err := transport.RoundTrip(request)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		s.t.Error(err)
	}
	return answer.StatusCode
}

const (
	nodesPath   = "/api/v1/nodes"
	defaultPath = "/api/v1/namespaces/default/secrets/none"
)

// TestAccount: the token belongs to the account, has the rights of its role, and becomes invalid with the account.
func TestAccount(t *testing.T) {
	t.Parallel()
	for name, life := range map[string]time.Duration{"Secret": 0, "TokenRequest": time.Hour} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			a := cluster.Account{Namespace: "kube-system", Name: "vnfkit", ClusterRole: "cluster-admin", TokenLife: life}
			first, err := s.EnsureAccount(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if first.Expires.IsZero() != (life == 0) || life > 0 && time.Until(first.Expires) > life {
				t.Errorf("it ends at %v", first.Expires)
			}
			again, err := s.EnsureAccount(t.Context(), a)
			if err != nil || (again.Token == first.Token) != (life == 0) {
				t.Errorf("the token is another one, or the same: %v", err)
			}
			if code := s.status(again, http.MethodDelete, defaultPath); code != http.StatusNotFound {
				t.Errorf("an administrator: %d", code)
			}
			other, err := s.RequestToken(t.Context(), cluster.Account{Namespace: a.Namespace, Name: a.Name, TokenLife: time.Hour})
			if err != nil || other.Life != time.Hour || other.Expires.IsZero() || other.Token == again.Token {
				t.Errorf("another token lives for %v, until %v: %v", other.Life, other.Expires, err)
			}
			if a, b := s.status(again, http.MethodGet, nodesPath), s.status(other, http.MethodGet, nodesPath); a != http.StatusOK || b != http.StatusOK {
				t.Errorf("both tokens: %d, %d", a, b)
			}
			a.ClusterRole = "view"
			narrow, err := s.EnsureAccount(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if get, del := s.status(narrow, http.MethodGet, nodesPath), s.status(narrow, http.MethodDelete, defaultPath); get != http.StatusOK || del != http.StatusForbidden {
				t.Errorf("one who may look: %d, %d", get, del)
			}
			for range 2 {
				if err := s.RemoveAccount(t.Context(), a); err != nil {
					t.Error(err)
				}
			}
			if code := s.status(narrow, http.MethodGet, nodesPath); code != http.StatusUnauthorized {
				t.Errorf("after the end: %d", code)
			}
		})
	}
}

// TestTokenPolicyChanges: the token that does not end by itself is gone when one is wanted that does.
func TestTokenPolicyChanges(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := cluster.Account{Namespace: "kube-system", Name: "vnfkit", ClusterRole: "cluster-admin"}
	long, err := s.EnsureAccount(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	a.TokenLife = time.Hour
	if _, err := s.EnsureAccount(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if code := s.status(long, http.MethodGet, nodesPath); code != http.StatusUnauthorized {
		t.Errorf("%d", code)
	}
}

func TestAccountFails(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	a := cluster.Account{Namespace: "kube-system", Name: "vnfkit", ClusterRole: "none"}
	if _, err := s.EnsureAccount(ctx, a); !errors.Is(err, cluster.ErrNoClusterRole) || !strings.Contains(err.Error(), "none") {
		t.Errorf("%v", err)
	}
	a.ClusterRole, a.TokenLife = "view", time.Minute
	if _, err := s.EnsureAccount(ctx, a); err == nil || !strings.Contains(err.Error(), "less than 10 minutes") {
		t.Errorf("%v", err)
	}
	if _, err := s.RequestToken(ctx, cluster.Account{Namespace: "kube-system", Name: "none", TokenLife: time.Hour}); !apierrors.IsNotFound(err) {
		t.Errorf("a token for an account that there is not: %v", err)
	}
	if ctx.Err() != nil {
		t.Error("it was tried to the end")
	}
}
