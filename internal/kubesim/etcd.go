package kubesim

import (
	"net/netip"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
)

// alive reports whether a member runs, as a static pod with the kubelet of its machine, and the other members accept its certificate.
func (w *World) alive(c *cluster, e etcd.Member) bool {
	m := w.state.Machines[e.Machine]
	return m != nil && m.runs("kubelet") && m.Cluster == c.ID && e.Name != "" && (len(c.Etcd.Members) == 1 || w.inTime(m, peerCert))
}

func (w *World) members(c *cluster) etcd.Running {
	return func(m etcd.Member) bool { return w.alive(c, m) }
}

// quorate reports whether etcd answers: without, the API answers nothing.
func (w *World) quorate(c *cluster) bool { return c.Etcd.Quorate(w.members(c)) }

// Member describes an etcd member, for tests.
type Member struct {
	Name, Machine   string
	Address         netip.Addr
	Learner, Leader bool
	Alive           bool
}

// Members lists the etcd members of every cluster of which a machine is left.
func (w *World) Members() []Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Member
	for _, c := range w.state.Clusters {
		if !slices.ContainsFunc(c.Etcd.Members, func(e etcd.Member) bool { return w.state.Machines[e.Machine] != nil }) {
			continue
		}
		for _, e := range c.Etcd.Members {
			out = append(out, Member{e.Name, e.Machine, e.Address, e.Learner, c.Etcd.Elect(w.members(c)) == e.ID, w.alive(c, e)})
		}
	}
	return out
}
