package sol003_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
)

// TestTenants sends every request with an instance or an operation of another tenant. The answer must be 404.
func TestTenants(t *testing.T) {
	t.Parallel()
	x := newVNFM(t, nil, sol003.Options{Authorize: func(r *http.Request) (sol003.Principal, error) {
		return sol003.Principal{Tenant: r.Header.Get("X-Tenant")}, nil
	}})
	const base, body = "/vnflcm/v2/vnf_instances", `{"vnfdId":"` + toyVNFD + `"}`
	a := x.send("POST", base, body, 201, "X-Tenant", "a").Header.Get("Location")
	occ := x.send("POST", a+"/instantiate", instantiate, 202, "X-Tenant", "a").Header.Get("Location")
	x.await(occ, vnflcm.Completed) // reads as a principal without a tenant, who sees everything
	operators := x.create("v2")
	ours := func(tenant string, want int) {
		t.Helper()
		for _, list := range []string{base, "/vnflcm/v2/vnf_lcm_op_occs"} {
			if got := x.send("GET", list, "", 200, "X-Tenant", tenant).ids(); len(got) != want {
				t.Errorf("tenant %s: %s has %v", tenant, list, got)
			}
		}
	}
	ours("a", 1)
	ours("b", 0)
	for _, tenant := range []string{"a", "b"} {
		want := map[string]string{"a": operators, "b": a}[tenant]
		for _, c := range []struct{ method, uri, body string }{
			{"GET", want, ""}, {"DELETE", want, ""}, {"PATCH", want, `{}`}, {"POST", want + "/instantiate", `{"flavourId":"simple"}`}, {"POST", want + "/scale", `{}`},
			{"POST", want + "/heal", `{}`}, {"POST", want + "/terminate", `{"terminationType":"FORCEFUL"}`}, {"POST", want + "/change_ext_conn", `{}`},
		} {
			x.send(c.method, c.uri, c.body, 404, "X-Tenant", tenant)
		}
		x.send("PATCH", want, `{}`, 404, "X-Tenant", tenant, "If-Match", "*")
		x.send("DELETE", want, "", 404, "X-Tenant", tenant, "If-Match", "*")
	}
	for _, task := range []string{"", "/retry", "/rollback", "/fail", "/cancel"} {
		method, body := "POST", ""
		switch task {
		case "":
			method = "GET"
		case "/cancel":
			body = `{"cancelMode":"FORCEFUL"}`
		}
		x.send(method, occ+task, body, 404, "X-Tenant", "b")
	}
	x.send("GET", occ, "", 200, "X-Tenant", "a")
	x.send("GET", a, "", 200, "X-Tenant", "a")

	x.send("POST", a+"/terminate", `{"terminationType":"FORCEFUL"}`, 202, "X-Tenant", "a")
}

// failing is a Manager whose calls fail.
type failing struct {
	sol003.Manager
	err error
}

func (m *failing) Get(context.Context, string) (*vnflcm.VnfInstance, error) { return nil, m.err }

func (m *failing) Create(context.Context, vnflcm.CreateVnfRequest) (*vnflcm.VnfInstance, error) {
	return nil, m.err
}

func (m *failing) Instances(context.Context, vnflcm.InstanceQuery) (vnflcm.Page[*vnflcm.VnfInstance], error) {
	return vnflcm.Page[*vnflcm.VnfInstance]{Items: []*vnflcm.VnfInstance{{ID: "readable", InstantiationState: vnflcm.NotInstantiated}}}, m.err
}

func (m *failing) Operation(context.Context, string) (*vnflcm.VnfLcmOpOcc, error) { return nil, m.err }

func (m *failing) Heal(context.Context, string, vnflcm.HealVnfRequest) (string, error) {
	return "", m.err
}

// TestFailures checks the answers if the Manager fails.
func TestFailures(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]int{
		vnflcm.ErrStore: 503, vnflcm.ErrShutdown: 503, vnflcm.ErrLeased: 503, vnflcm.ErrBusy: 503, vnflcm.ErrUnreadable: 500, errors.New("https://u:" + canary + "@h/ is gone"): 500,
		context.DeadlineExceeded: 504, vnflcm.ErrNotSupported: 404, vnflcm.ErrNoPackage: 422,
	} {
		x := newVNFMWith(t, nil, sol003.Options{}, func(m *vnflcm.Manager, _ *sol003.Options) sol003.Manager {
			return &failing{m, fmt.Errorf("it failed: %w", err)}
		})
		for _, api := range versions {
			base := "/vnflcm/" + api
			x.send("GET", base+"/vnf_instances/x", "", want)
			x.send("POST", base+"/vnf_instances", `{"vnfdId":"x"}`, want)
			x.send("POST", base+"/vnf_instances/x/heal", `{}`, want)
			x.send("GET", base+"/vnf_lcm_op_occs/x", "", want)
			x.send("POST", base+"/vnf_lcm_op_occs/x/retry", "", want)
			list := want
			if errors.Is(err, vnflcm.ErrUnreadable) {
				list = 200 // the list omits the damaged record
			}
			x.send("GET", base+"/vnf_instances", "", list)
		}
	}
}
