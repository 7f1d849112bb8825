package openstack_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOperateFaults: a server that does not exist is an obstacle to a start only, and a fault of Nova is in the error.
func TestOperateFaults(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		to     vnflcm.VnfState
		status int // of Nova's answers about a server
		want   string
	}{
		"stop without a server":  {vnflcm.VnfStopped, http.StatusNotFound, ""},
		"start without a server": {vnflcm.VnfStarted, http.StatusNotFound, "start server "},
		"stop is not permitted":  {vnflcm.VnfStopped, http.StatusForbidden, "shut down server "},
		"start is not permitted": {vnflcm.VnfStarted, http.StatusForbidden, "start server "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t, openstack.VimTypeV2)
			l.must(l.instantiate())
			l.mu.Lock()
			l.fault = func(r *http.Request) int {
				if strings.HasSuffix(r.URL.Path, "/action") {
					return c.status
				}
				return 0
			}
			l.mu.Unlock()
			m := l.start()
			opID, err := m.Operate(t.Context(), l.id, vnflcm.OperateVnfRequest{ChangeStateTo: c.to})
			if err == nil {
				_, err = m.Wait(t.Context(), opID)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestStartDuringStop checks that a start waits for the end of a stop that Nova still works on, and then asks for the start.
func TestStartDuringStop(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	l.must(l.instantiate())
	l.mu.Lock()
	l.running = 3
	l.each(func(m *member) { m.off = true })
	l.mu.Unlock()
	m := l.start()
	opID, err := m.Operate(t.Context(), l.id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted})
	if err == nil {
		_, err = m.Wait(t.Context(), opID)
	}
	if err != nil {
		t.Fatal(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.each(func(m *member) {
		if m.off {
			t.Errorf("%s is off", m.name)
		}
	})
}
