package openstack_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// stopper is a management driver that stops the healed servers before they are replaced.
type stopper struct {
	idle
	giveUp  chan struct{} // closed when the stop must not wait any longer
	stopped error
}

func (s *stopper) Hooks() vnflcm.Hooks {
	hooks := s.idle.Hooks()
	hooks[vnflcm.HealStart] = func(ctx context.Context, op *vnflcm.Operation) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			select {
			case <-s.giveUp:
				cancel()
			case <-ctx.Done():
			}
		}()
		for _, v := range op.Change.Replaced {
			s.stopped = errors.Join(s.stopped, op.StopMachine(ctx, v))
		}
		return nil
	}
	return hooks
}

// TestStopMachine checks that stopping a machine waits until Nova reports that the server is off, or until the caller's context ends.
func TestStopMachine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		running int // requests until the server is off
		status  int // status of Nova's answer to the stop; 0: success
		want    string
	}{
		{name: "shuts down", running: 3},
		{name: "is off already", status: http.StatusConflict},
		{name: "does not exist", status: http.StatusNotFound},
		{name: "compute host does not answer", running: math.MaxInt, want: "is not off"},
		{name: "is not permitted", status: http.StatusForbidden, want: "shut down server"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			before := l.must(l.instantiate())
			var one string
			for one = range before {
				break
			}
			s := &stopper{giveUp: make(chan struct{})}
			looks := 0
			l.mu.Lock()
			l.running = c.running
			l.each(func(m *member) { m.off = c.status == http.StatusConflict })
			l.fault = func(r *http.Request) int {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "/servers/"+before[one]) {
					if looks++; looks == 5 && c.running == math.MaxInt { // end the context of the caller
						close(s.giveUp)
					}
				}
				if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/servers/"+before[one]+"/action") {
					return c.status
				}
				return 0
			}
			l.mu.Unlock()
			m := l.start(func(cfg *vnflcm.Config) { cfg.Mgmt = map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": s} })
			opID, err := m.Heal(t.Context(), l.id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{one}})
			if err == nil {
				_, err = m.Wait(t.Context(), opID)
			}
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" && s.stopped != nil || c.want != "" && (s.stopped == nil || !strings.Contains(s.stopped.Error(), c.want)) {
				t.Errorf("%v", s.stopped)
			}
			if n := l.requests["POST /nova/v2.1/servers/*/action"]; n != 1 {
				t.Errorf("Nova was asked %d times to stop a server", n)
			}
		})
	}
}
