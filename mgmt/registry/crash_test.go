package registry_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// end is what there is when all is done, in terms that do not change from run to run.
func (l *lab) end(id string) map[string]string {
	l.t.Helper()
	var c struct {
		Image  string
		State  struct{ Status string }
		Config struct{ Env []string }
	}
	must(l.t, json.Unmarshal([]byte(l.on("docker", "container", "inspect", "--format", "{{json .}}", "private_registry")), &c))
	out := map[string]string{"container": fmt.Sprint(c)}
	connection := l.connection(id)
	connection.CACertificate = fmt.Sprint(connection.CACertificate != "")
	out["connection"] = fmt.Sprint(connection)
	for _, kind := range []string{"instance", "state", "step", "claim"} {
		out[kind] = fmt.Sprint(len(l.Records(kind)))
	}
	must(l.t, l.push(l.connection(id), "team/web:1"))
	return out
}

// tlsOnly has no users: their hashes are meant to be slow to make.
const tlsOnly = `{"server_name":"registry.example.org","tls":{},"probe":true}`

// TestCrash kills the process at each program that it runs on the machine and around each step; the next process reaches the
// same result.
func TestCrash(t *testing.T) {
	t.Parallel()
	setup := setup{}.lab(t)
	on := func(l *mgmttest.Lab) *lab { return &lab{Lab: l, t: l.T()} }
	end := func(l *mgmttest.Lab, id string) any { return on(l).end(id) }
	t.Run("instantiate", func(t *testing.T) {
		t.Parallel()
		mgmttest.Crash{Setup: setup, End: end, Begin: func(l *mgmttest.Lab, m *vnflcm.Manager, id string) (string, error) {
			return m.Instantiate(t.Context(), id, l.Request("instantiate.json", with(t, tlsOnly)))
		}}.Run(t)
	})
	t.Run("heal", func(t *testing.T) {
		t.Parallel()
		mgmttest.Crash{Setup: setup, End: end,
			Prepare: func(l *mgmttest.Lab) string { return l.Instantiated("instantiate.json", with(t, tlsOnly)) },
			Begin: func(l *mgmttest.Lab, m *vnflcm.Manager, id string) (string, error) {
				return m.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{l.VNFCs(id)[0].ID}})
			}}.Run(t)
	})
	t.Run("change the package", func(t *testing.T) {
		t.Parallel()
		setup, second := setup, secondPackage(t, setup.Package)
		setup.Sandbox.Rebuild = true
		mgmttest.Crash{Setup: setup, End: end,
			Prepare: func(l *mgmttest.Lab) string {
				return l.Instantiated("instantiate.json", onVolume, with(t, tlsOnly), with(t, volume))
			},
			Begin: func(l *mgmttest.Lab, m *vnflcm.Manager, id string) (string, error) {
				l.Onboard(second)
				return m.ChangeVnfPkg(t.Context(), id, changing(t, `{}`))
			}}.Run(t)
	})
}
