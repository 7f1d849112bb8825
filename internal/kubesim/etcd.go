package kubesim

import (
	"net/netip"
	"slices"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadm"
)

// alive reports whether a member runs, as a static pod with the kubelet of its machine, and the other members accept its certificate.
func (w *World) alive(c *cluster, e etcd.Member) bool {
	m := w.state.Machines[e.Machine]
	return m != nil && m.runs("kubelet") && m.Cluster == c.ID && e.Name != "" && w.hasStatic(m, "etcd") && w.hasData(c, m) && (len(c.Etcd.Members) == 1 || w.inTime(m, peerCert))
}

// hasData reports whether the data directory of a machine has data that etcd can read, and of the cluster as it is now: not of the time before a restore.
func (w *World) hasData(c *cluster, m *machine) bool {
	if w.files[m.ID] == nil {
		return true
	}
	files := w.files[m.ID]()
	if exists, err := afero.Exists(files, etcd.Database(kubeadm.EtcdData)); err != nil || !exists {
		return false
	}
	return c.Etcd.Token == "" || etcd.TokenIn(files, kubeadm.EtcdData) == c.Etcd.Token
}

// members returns which members run. It notes their versions, which are those of their static pods.
func (w *World) members(c *cluster) etcd.Running {
	w.enterRestored(c)
	for i, e := range c.Etcd.Members {
		m := w.state.Machines[e.Machine]
		if m == nil || w.files[e.Machine] == nil {
			continue
		}
		if text, err := afero.ReadFile(w.files[e.Machine](), manifests+"etcd.yaml"); err == nil {
			c.Etcd.Members[i].Version = kubeadm.VersionOf(string(text))
		}
	}
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
	Version         string
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
		leader := c.Etcd.Elect(w.members(c))
		for _, e := range c.Etcd.Members {
			out = append(out, Member{e.Name, e.Machine, e.Address, e.Learner, leader == e.ID, w.alive(c, e), e.Version})
		}
	}
	return out
}
