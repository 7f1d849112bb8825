package openstack_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestQuota: an instantiation and a scale-out for which the project has no room are refused before a stack is changed, unless the request
// passes over the check. A heal is not refused.
func TestQuota(t *testing.T) {
	t.Parallel()
	l := newLab(t, openstack.VimTypeV2)
	full := map[string]any{"maxTotalInstances": 10, "totalInstancesUsed": 9, "maxTotalCores": -1, "totalCoresUsed": 9, "maxTotalRAMSize": 10000, "totalRAMUsed": 10}
	l.setQuota(full)
	_, err := l.Instantiate(t.Context(), l.id, l.request(""))
	if !errors.Is(err, openstack.ErrQuota) || !strings.Contains(err.Error(), "for 3 instances more: 9 of 10 are in use") || len(l.stacks) > 0 {
		t.Fatalf("%v, %d stacks", err, len(l.stacks))
	}
	l.setQuota(nil)
	machines := l.must(l.instantiate())
	l.setQuota(full)
	out := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance", NumberOfSteps: 2}
	if _, err := l.Scale(t.Context(), l.id, out); !errors.Is(err, openstack.ErrQuota) {
		t.Errorf("scale-out: %v", err)
	}
	out.AdditionalParams, _ = vnflcm.ParseParams([]byte(`{"vim_pass_over":["other"]}`))
	if _, err := l.Scale(t.Context(), l.id, out); err == nil || !strings.Contains(err.Error(), "there is quota") {
		t.Errorf("an unknown check: %v", err)
	}
	out.AdditionalParams, _ = vnflcm.ParseParams([]byte(`{"vim_pass_over":["quota"]}`))
	if got := l.must(l.Scale(t.Context(), l.id, out)); len(got) != len(machines)+2 {
		t.Errorf("passed over: %d machines", len(got))
	}
	for one := range machines {
		l.must(l.heal("", one))
		break
	}
}

// setQuota lets Nova show these limits, nil for none.
func (l *lab) setQuota(absolute map[string]any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.quota = absolute
}
