package access_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/access"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// ofRequest is a VIM that a request has brought.
func ofRequest(t *testing.T, endpoint string) vnflcm.VimConnectionInfo {
	t.Helper()
	out := vim(t, endpoint, nil, nil)
	out.FromOperator = false
	return out
}

// TestAddresses: the policy judges Keystone of a request's VIM, what its catalog names, and redirects. It does not judge what the
// operator's VIM leads to.
func TestAddresses(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(inside.Close)
	reached := make(chan string, 10)
	inside.Config.Handler = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { reached <- r.Method + " " + r.URL.Path })
	only := func(allowed string) outbound.Policy {
		return func(to netip.AddrPort) error {
			if "http://"+to.String() == allowed {
				return nil
			}
			return outbound.RefuseLocal(to)
		}
	}
	t.Run("Keystone", func(t *testing.T) {
		_, err := open(t, access.Config{}).Clients(t.Context(), ofRequest(t, inside.URL))
		if !errors.Is(err, outbound.ErrAddress) || !errors.Is(err, vnflcm.ErrInvalidRequest) || errors.Is(err, access.ErrUnreachable) {
			t.Errorf("%v", err)
		}
	})
	t.Run("catalog", func(t *testing.T) {
		cloud := newCloud(t, httptest.NewServer)
		cloud.elsewhere = inside.URL
		_, err := open(t, access.Config{Allow: only(cloud.URL)}).Clients(t.Context(), ofRequest(t, cloud.URL))
		if !errors.Is(err, outbound.ErrAddress) {
			t.Errorf("%v", err)
		}
	})
	t.Run("redirect", func(t *testing.T) {
		cloud := newCloud(t, httptest.NewServer)
		cloud.login = func(w http.ResponseWriter, r *http.Request) bool {
			http.Redirect(w, r, inside.URL+"/v3/auth/tokens", http.StatusTemporaryRedirect)
			return true
		}
		_, err := open(t, access.Config{Allow: only(cloud.URL)}).Clients(t.Context(), ofRequest(t, cloud.URL))
		if err == nil {
			t.Error("the redirect was followed")
		}
	})
	select {
	case request := <-reached:
		t.Errorf("the refused address has got %s", request)
	default:
	}
	t.Run("operator", func(t *testing.T) {
		cloud := newCloud(t, httptest.NewServer)
		if _, err := open(t, access.Config{}).Clients(t.Context(), vim(t, cloud.URL, nil, nil)); err != nil {
			t.Error(err)
		}
	})
}

// TestQuotes: errors about a request's VIM quote the messages of OpenStack, and nothing else of an answer: any server can be named
// as a service.
func TestQuotes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body         string
		operator     bool
		quoted, hide string
	}{
		"Heat's message":        {`{"error": {"message": "the quota is used up", "type": "Forbidden"}, "code": 403, "inside": "hunter2"}`, false, "the quota is used up", "hunter2"},
		"Nova's message":        {`{"forbidden": {"message": "no such flavor", "code": 403}}`, false, "no such flavor", ""},
		"another server":        {`{"password": "hunter2"}`, false, "", "hunter2"},
		"a page":                {`<html>hunter2</html>`, false, "", "hunter2"},
		"a page, operator's":    {`<html>maintenance</html>`, true, "maintenance", ""},
		"another, operator's":   {`{"detail": "maintenance"}`, true, "maintenance", ""},
		"a message of any type": {`{"error": {"message": ["hunter2"]}}`, false, "", "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cloud := newCloud(t, httptest.NewServer)
			cloud.heat = func(w http.ResponseWriter, _ *http.Request) bool {
				w.WriteHeader(http.StatusForbidden)
				_, _ = w.Write([]byte(c.body))
				return true
			}
			info := ofRequest(t, cloud.URL)
			info.FromOperator = c.operator
			clients, err := open(t, access.Config{Allow: outbound.AllowAny}).Clients(t.Context(), info)
			if err != nil {
				t.Fatal(err)
			}
			err = clients.Explain(list(t.Context(), clients))
			if err == nil || !strings.Contains(err.Error(), c.quoted) || c.hide != "" && strings.Contains(err.Error(), c.hide) {
				t.Errorf("%v", err)
			}
		})
	}
}
