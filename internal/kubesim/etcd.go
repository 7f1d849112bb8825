package kubesim

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// etcdCluster is the etcd of a cluster: its members, and the CA that they and their clients have.
type etcdCluster struct {
	CA      pki.Pair     `json:"ca"`
	Members []etcdMember `json:"members"`
	Leader  uint64       `json:"leader"`
	Term    uint64       `json:"term"`
}

// etcdMember outlives its machine: only the API takes it out.
type etcdMember struct {
	ID      uint64     `json:"id"`
	Machine string     `json:"machine"`
	Name    string     `json:"name,omitempty"` // none until it has started
	Address netip.Addr `json:"address"`
	Learner bool       `json:"learner,omitempty"`
}

func newMemberID() uint64 {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return binary.BigEndian.Uint64(id[:])
}

func (e *etcdCluster) byID(id uint64) *etcdMember {
	for i := range e.Members {
		if e.Members[i].ID == id {
			return &e.Members[i]
		}
	}
	return nil
}

// of finds the member that runs on a machine.
func (e *etcdCluster) of(machine string) *etcdMember {
	for i := range e.Members {
		if e.Members[i].Machine == machine {
			return &e.Members[i]
		}
	}
	return nil
}

func (e *etcdCluster) voters() []etcdMember {
	return slices.DeleteFunc(slices.Clone(e.Members), func(m etcdMember) bool { return m.Learner })
}

// alive reports whether the member runs: as a static pod, with the kubelet of its machine.
func (w *World) alive(c *cluster, e etcdMember) bool {
	m := w.state.Machines[e.Machine]
	return m != nil && m.runs("kubelet") && m.Cluster == c.ID && e.Name != ""
}

func (w *World) aliveVoters(c *cluster) []etcdMember {
	return slices.DeleteFunc(c.Etcd.voters(), func(e etcdMember) bool { return !w.alive(c, e) })
}

// quorate reports whether more than half of the voting members are alive: without, the API answers nothing.
func (w *World) quorate(c *cluster) bool {
	return len(w.aliveVoters(c))*2 > len(c.Etcd.voters())
}

// leader returns the leading member; 0 without a quorum. A new one is elected when the last one no longer runs.
func (w *World) leader(c *cluster) uint64 {
	if !w.quorate(c) {
		return 0
	}
	alive := w.aliveVoters(c)
	if !slices.ContainsFunc(alive, func(e etcdMember) bool { return e.ID == c.Etcd.Leader }) {
		c.Etcd.Leader, c.Etcd.Term = alive[0].ID, c.Etcd.Term+1
	}
	return c.Etcd.Leader
}

// Errors of etcd as its clients see them (api/v3rpc/rpctypes, with the codes of gRPC).
var (
	errEtcdTimeout     = &rpcError{14, "etcdserver: request timed out"}
	errEtcdUnhealthy   = &rpcError{14, "etcdserver: unhealthy cluster"}
	errEtcdLearner     = &rpcError{14, "etcdserver: rpc not supported for learner"}
	errEtcdNotFound    = &rpcError{5, "etcdserver: member not found"}
	errEtcdNotStarted  = &rpcError{9, "etcdserver: re-configuration failed due to not enough started members"}
	errEtcdTooMany     = &rpcError{9, "etcdserver: too many learner members in cluster"}
	errEtcdNotLeader   = &rpcError{9, "etcdserver: not leader"}
	errEtcdBadTransfer = &rpcError{9, "etcdserver: bad leader transferee"}
)

// addLearner is the first step of kubeadm join. It checks first that every member answers, and skips the addition if
// its peer URL is already a member (kubeadm 1.35, phases/join/checketcd.go, util/etcd addMember). A member that has run
// has lost its data then: it cannot start.
func (w *World) addLearner(c *cluster, m *machine) error {
	e := &c.Etcd
	for _, known := range e.Members {
		switch {
		case known.Address == m.Address && known.Name == "":
			e.byID(known.ID).Machine = m.ID
			return nil
		case known.Address == m.Address:
			return errors.New("error execution phase control-plane-join/etcd: error creating local etcd static pod manifest file: " +
				"timeout waiting for etcd cluster to be available")
		case known.Name != "" && !w.alive(c, known):
			return fmt.Errorf("error execution phase check-etcd: etcd cluster is not healthy: failed to dial endpoint https://%s:2379 with maintenance client: context deadline exceeded", known.Address)
		}
	}
	if slices.ContainsFunc(e.Members, func(m etcdMember) bool { return m.Learner }) {
		return fmt.Errorf("error execution phase control-plane-join/etcd: %w", errEtcdTooMany)
	}
	e.Members = append(e.Members, etcdMember{ID: newMemberID(), Machine: m.ID, Address: m.Address, Learner: true})
	return nil
}

// removeMember takes a member out as etcd does with --strict-reconfig-check (server/etcdserver, mayRemoveMember).
func (w *World) removeMember(c *cluster, id uint64) error {
	e := &c.Etcd
	target := e.byID(id)
	switch {
	case !w.quorate(c):
		return errEtcdTimeout
	case target == nil:
		return errEtcdNotFound
	case target.Learner:
	default:
		voters, started := 0, 0
		for _, m := range e.voters() {
			if m.ID != id {
				voters++
				if m.Name != "" {
					started++
				}
			}
		}
		if started < voters/2+1 {
			return errEtcdNotStarted
		}
		if w.alive(c, *target) && len(w.aliveVoters(c))-1 < 1+voters/2 {
			return errEtcdUnhealthy
		}
	}
	e.Members = slices.DeleteFunc(e.Members, func(m etcdMember) bool { return m.ID == id })
	return nil
}

// moveLeader hands leadership on; only the leader itself does.
func (w *World) moveLeader(c *cluster, self, to uint64) error {
	switch {
	case w.leader(c) != self || self == 0:
		return errEtcdNotLeader
	case !slices.ContainsFunc(w.aliveVoters(c), func(e etcdMember) bool { return e.ID == to }):
		return errEtcdBadTransfer
	}
	c.Etcd.Leader, c.Etcd.Term = to, c.Etcd.Term+1
	return nil
}

// writeEtcdFiles writes the certificates of the member on this machine, and of its clients.
func (c *call) writeEtcdFiles(e *etcdCluster, name, address string) error {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	files, err := etcdFiles(e.CA, name, addr, c.w.nowFunc())
	if err != nil {
		return err
	}
	for name, content := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".key") {
			mode = 0o600
		}
		if err := c.write(name, content, mode); err != nil {
			return err
		}
	}
	return nil
}

// enterEtcd adds the learner: etcd takes one at a time. A join that is cut short leaves it.
func (c *call) enterEtcd(o *joinOptions) error {
	return c.on(func(m *machine) error {
		cl, err := c.w.reach(o.endpoint)
		if err != nil {
			return err
		}
		return c.w.addLearner(cl, m)
	})
}

// writeMemberFiles writes the certificates of the member that is to run on this machine.
func (c *call) writeMemberFiles(cl *cluster, name string) error {
	e := cl.Etcd.of(c.id)
	if e == nil {
		return errors.New("error execution phase control-plane-join/etcd: failed to get member status: member not found")
	}
	return c.writeEtcdFiles(&cl.Etcd, name, e.Address.String())
}

// promote makes the learner of this machine a voting member. kubeadm does so when the member runs (util/etcd, MemberPromote): a join that
// fails earlier leaves the other members their quorum.
func (e *etcdCluster) promote(machine, name string) {
	m := e.of(machine)
	m.Name, m.Learner = name, false
}

// leaveEtcd is the etcd part of kubeadm reset: it removes the member if it runs and the remaining members accept the
// change; then it deletes the data. The last member ends the cluster.
func (c *call) leaveEtcd(m *machine) {
	cl := c.w.state.Clusters[m.Cluster]
	if cl == nil {
		return // the machine belongs to no cluster
	}
	e := cl.Etcd.of(m.ID)
	switch {
	case e == nil:
	case len(cl.Etcd.Members) == 1:
		delete(c.w.state.Clusters, cl.ID)
	default:
		_ = c.w.removeMember(cl, e.ID) // a warning only
	}
}

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
		if !slices.ContainsFunc(c.Etcd.Members, func(e etcdMember) bool { return w.state.Machines[e.Machine] != nil }) {
			continue
		}
		for _, e := range c.Etcd.Members {
			out = append(out, Member{e.Name, e.Machine, e.Address, e.Learner, w.leader(c) == e.ID, w.alive(c, e)})
		}
	}
	return out
}
