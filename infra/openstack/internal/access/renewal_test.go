package access_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
)

func TestPasswordChanged(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	clients, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	cloud.expire()
	cloud.mu.Lock()
	cloud.login = func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = w.Write([]byte(canary))
		return true
	}
	cloud.mu.Unlock()
	err = clients.Explain(list(t.Context(), clients))
	if !errors.Is(err, access.ErrAuth) || !strings.Contains(err.Error(), "/v3/auth/tokens") || strings.Contains(err.Error(), canary) {
		t.Error(err)
	}
}

// TestCancelledRenewal cancels the request that gets the new token. The requests that wait for the token get it.
func TestCancelledRenewal(t *testing.T) {
	t.Parallel()
	cloud := newCloud(t, httptest.NewServer)
	clients, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	cloud.expire()
	asked, answer := make(chan struct{}), make(chan struct{})
	cloud.mu.Lock()
	var once sync.Once
	cloud.login = func(http.ResponseWriter, *http.Request) bool {
		once.Do(func() { close(asked) })
		<-answer
		return false
	}
	cloud.mu.Unlock()
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() { _ = list(ctx, clients) })
	<-asked
	group.Go(func() {
		if err := list(t.Context(), clients); err != nil {
			t.Error(err)
		}
	})
	cancel()
	time.AfterFunc(50*time.Millisecond, func() { close(answer) }) // the second request has come by then
	group.Wait()
	if cloud.logins != 2 {
		t.Errorf("%d logins", cloud.logins)
	}
}
