package expose_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// TestClusterGone terminates a CNF after its cluster: the ports are closed at a load balancer that still exists.
func TestClusterGone(t *testing.T) {
	t.Parallel()
	for name, hasLB := range map[string]bool{"with the load balancer": false, "the load balancer stays": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.config.Allow = outbound.AllowAny // the cluster of a request is on this machine
			l.Manager = l.start()
			ports := l.pods.ports
			l.pods.set()
			l.pods.made = "made"
			cluster, err := l.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: vnfdID})
			if err != nil {
				t.Fatal(err)
			}
			l.must(l.Instantiate(t.Context(), cluster.ID, l.request(nil)))
			l.pods.set(ports...)
			l.pods.made = ""
			request := l.request(nil)
			request.VimConnectionInfo[0].VimID = "made"
			l.must(l.Instantiate(t.Context(), l.id, request))
			l.want(both)

			l.must(l.Terminate(t.Context(), cluster.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
			l.cluster.Stop()
			if !hasLB {
				l.giveUpSoon()
				l.lb.CutConnections()
				l.lb.Refuse(true)
			}
			l.must(l.Terminate(t.Context(), l.id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}))
			if warned := strings.Contains(l.said(), "the load balancer cannot be reached"); warned == hasLB {
				t.Errorf("log:\n%s", l.said())
			}
			if !hasLB {
				return
			}
			parts, err := l.direct.Parts(t.Context())
			if _, left := parts[loadbalancer.CNFOwner(l.id)]; left || err != nil {
				t.Errorf("%v, %v", parts, err)
			}
		})
	}
}
