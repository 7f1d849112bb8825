package expose_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestParams(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	key := sshtest.NewKey(t, "ssh-ed25519")
	for name, c := range map[string]struct {
		change func(lb, access map[string]any)
		want   []string // paths of the faults, within external_lb_param
	}{
		"key":                {func(_, a map[string]any) { delete(a, "ssh_password"); a["ssh_private_key"] = string(key.PEM) }, nil},
		"host key":           {func(_, a map[string]any) { a["host_key"] = l.lb.PublicKey() }, nil},
		"name":               {func(_, a map[string]any) { a["ssh_ip"] = "lb.example" }, nil},
		"IPv6":               {func(_, a map[string]any) { a["ssh_ip"] = "2001:db8::5" }, nil},
		"nothing":            {func(lb, _ map[string]any) { delete(lb, "external_lb_param") }, []string{"ssh_ip", "ssh_username", "ssh_password"}},
		"no address":         {func(_, a map[string]any) { a["ssh_ip"] = "lb\nx" }, []string{"ssh_ip"}},
		"an option":          {func(_, a map[string]any) { a["ssh_ip"] = "-oProxyCommand=x" }, []string{"ssh_ip"}},
		"a port too high":    {func(_, a map[string]any) { a["ssh_ip"] = "lb:70000" }, []string{"ssh_ip"}},
		"a zone":             {func(_, a map[string]any) { a["ssh_ip"] = "[fe80::1%eth0]:22" }, []string{"ssh_ip"}},
		"no key":             {func(_, a map[string]any) { a["ssh_private_key"] = canary }, []string{"ssh_private_key"}},
		"a passphrase alone": {func(_, a map[string]any) { a["ssh_passphrase"] = canary }, []string{"ssh_passphrase"}},
		"no host key":        {func(_, a map[string]any) { a["host_key"] = "x" }, []string{"host_key"}},
		"a wrong type":       {func(lb, _ map[string]any) { lb["external_lb_param"] = "x" }, []string{""}},
	} {
		req := l.request(c.change)
		err := l.check(req)
		var got []string
		for line := range strings.Lines(err) {
			if p, _, ok := strings.Cut(line, ": "); ok {
				got = append(got, strings.TrimPrefix(strings.TrimPrefix(p, "additionalParams.lcm-kubernetes-external-lb.external_lb_param"), "."))
			}
		}
		slices.Sort(got)
		slices.Sort(c.want)
		if !slices.Equal(got, c.want) || strings.Contains(err, canary) {
			t.Errorf("%s: %q: %s", name, got, err)
		}
	}
	none := l.request(nil)
	none.AdditionalParams = vnflcm.Params{}
	if err := l.check(none); !strings.Contains(err, "additionalParams.lcm-kubernetes-external-lb: is required") {
		t.Error(err)
	}
	l.check(l.request(func(lb, a map[string]any) { lb["colour"] = "x"; a["ssh_colour"] = "y" }))
	for _, name := range []string{"additionalParams.lcm-kubernetes-external-lb.colour", "external_lb_param.ssh_colour"} {
		if !strings.Contains(l.said(), name) {
			t.Errorf("nobody was told that %s is unknown", name)
		}
	}
}

// check has a request checked only: it is refused, or its operation given up.
func (l *lab) check(req vnflcm.InstantiateVnfRequest) string {
	l.t.Helper()
	inst, err := l.Create(l.t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
	if err != nil {
		l.t.Fatal(err)
	}
	opID, err := l.Instantiate(l.t.Context(), inst.ID, req)
	if err != nil {
		return err.Error()
	}
	_ = l.Cancel(l.t.Context(), opID, vnflcm.CancelForceful)
	l.wait(opID, nil)
	return ""
}

// TestMovedBalancer: a request that names another load balancer brings the login for it.
func TestMovedBalancer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must(l.Instantiate(t.Context(), l.id, l.request(nil)))
	for request, want := range map[string]string{
		`{"ssh_ip": "203.0.113.9"}`:                                     "external_lb_param.ssh_password: is required with another",
		`{"ssh_ip": "203.0.113.9", "ssh_username": "thief"}`:            "external_lb_param.ssh_password: is required with another",
		`{"ssh_ip": "203.0.113.9", "ssh_password": "x", "host_key": 1}`: "host_key",
	} {
		params, err := vnflcm.ParseParams([]byte(`{"lcm-kubernetes-external-lb": {"external_lb_param": ` + request + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		_, err = l.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{AdditionalParams: params})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "another") != strings.Contains(want, "another") {
			t.Errorf("%s: %v", request, err)
		}
	}
}
