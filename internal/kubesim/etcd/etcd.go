package etcd

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// Cluster is the etcd of a Kubernetes cluster: its members, and the CA that they and their clients have. It is saved as JSON.
type Cluster struct {
	CA      pki.Pair `json:"ca"`
	Members []Member `json:"members"`
	Leader  uint64   `json:"leader"`
	Term    uint64   `json:"term"`
	Token   string   `json:"token,omitempty"` // of the restore that has made the members; members that kubeadm has made have no token
	Past    []string `json:"past,omitempty"`  // tokens before
}

// Member is a member. It outlives its machine: only the API takes it out.
type Member struct {
	ID      uint64     `json:"id"`
	Machine string     `json:"machine"`
	Name    string     `json:"name,omitempty"` // none until it has started
	Address netip.Addr `json:"address"`
	Learner bool       `json:"learner,omitempty"`
	Version string     `json:"version,omitempty"` // of the program
}

func newID() uint64 {
	var id [8]byte
	_, _ = rand.Read(id[:])
	return number64(id[:])
}

func number64(bytes []byte) uint64 { return binary.BigEndian.Uint64(bytes) }

// New returns an etcd of one member, which runs on a machine.
func New(machine, name string, address netip.Addr, now time.Time) (Cluster, error) {
	ca, err := pki.NewCA("etcd-ca", now)
	return Cluster{CA: ca, Members: []Member{{ID: newID(), Machine: machine, Name: name, Address: address}}}, err
}

func (e *Cluster) byID(id uint64) *Member {
	for i := range e.Members {
		if e.Members[i].ID == id {
			return &e.Members[i]
		}
	}
	return nil
}

// Of finds the member that runs on a machine.
func (e *Cluster) Of(machine string) *Member {
	for i := range e.Members {
		if e.Members[i].Machine == machine {
			return &e.Members[i]
		}
	}
	return nil
}

func (e *Cluster) voters() []Member {
	return slices.DeleteFunc(slices.Clone(e.Members), func(m Member) bool { return m.Learner })
}

// Running reports whether a member runs.
type Running func(Member) bool

func (e *Cluster) running(runs Running) []Member {
	return slices.DeleteFunc(e.voters(), func(m Member) bool { return !runs(m) })
}

// Quorate reports whether more than half of the voting members run.
func (e *Cluster) Quorate(runs Running) bool {
	return len(e.running(runs))*2 > len(e.voters())
}

// Elect returns the leading member; 0 without a quorum. A new one is elected when the last one no longer runs.
func (e *Cluster) Elect(runs Running) uint64 {
	if !e.Quorate(runs) {
		return 0
	}
	running := e.running(runs)
	if !slices.ContainsFunc(running, func(m Member) bool { return m.ID == e.Leader }) {
		e.Leader, e.Term = running[0].ID, e.Term+1
	}
	return e.Leader
}

// Errors of etcd as its clients see them (api/v3rpc/rpctypes, with the codes of gRPC).
var (
	ErrTimeout = &rpcError{14, "etcdserver: request timed out"}
	// errWaits is the error of a change without a quorum: etcd waits for one, as long as the client does.
	errWaits      = &rpcError{4, "context deadline exceeded"}
	errUnhealthy  = &rpcError{14, "etcdserver: unhealthy cluster"}
	errLearner    = &rpcError{14, "etcdserver: rpc not supported for learner"}
	errNotFound   = &rpcError{5, "etcdserver: member not found"}
	errNotStarted = &rpcError{9, "etcdserver: re-configuration failed due to not enough started members"}
	// ErrTooMany is the answer to a second learner. kubeadm repeats the addition.
	ErrTooMany     = &rpcError{9, "etcdserver: too many learner members in cluster"}
	errNotLeader   = &rpcError{9, "etcdserver: not leader"}
	errBadTransfer = &rpcError{9, "etcdserver: bad leader transferee"}
)

// AddLearner is the first step of kubeadm join. It checks first that every member answers, and skips the addition if
// its peer URL is already a member (kubeadm 1.35, phases/join/checketcd.go, util/etcd addMember). A member that has run
// has lost its data then: it cannot start.
func (e *Cluster) AddLearner(machine string, address netip.Addr, runs Running) error {
	for _, known := range e.Members {
		switch {
		case known.Address == address && known.Name == "":
			e.byID(known.ID).Machine = machine
			return nil
		case known.Address == address:
			return errors.New("error execution phase control-plane-join/etcd: error creating local etcd static pod manifest file: " +
				"timeout waiting for etcd cluster to be available")
		case known.Name != "" && !runs(known):
			return fmt.Errorf("error execution phase check-etcd: etcd cluster is not healthy: failed to dial endpoint https://%s:2379 with maintenance client: context deadline exceeded", known.Address)
		}
	}
	if slices.ContainsFunc(e.Members, func(m Member) bool { return m.Learner }) {
		return fmt.Errorf("error execution phase control-plane-join/etcd: %w", ErrTooMany)
	}
	e.Members = append(e.Members, Member{ID: newID(), Machine: machine, Address: address, Learner: true})
	return nil
}

// Remove takes a member out as etcd does with --strict-reconfig-check (server/etcdserver, mayRemoveMember).
func (e *Cluster) Remove(id uint64, runs Running) error {
	target := e.byID(id)
	switch {
	case !e.Quorate(runs):
		return ErrTimeout
	case target == nil:
		return errNotFound
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
			return errNotStarted
		}
		if runs(*target) && len(e.running(runs))-1 < 1+voters/2 {
			return errUnhealthy
		}
	}
	e.Members = slices.DeleteFunc(e.Members, func(m Member) bool { return m.ID == id })
	return nil
}

// moveLeader hands leadership on; only the leader itself does.
func (e *Cluster) moveLeader(self, to uint64, runs Running) error {
	switch {
	case e.Elect(runs) != self || self == 0:
		return errNotLeader
	case !slices.ContainsFunc(e.running(runs), func(m Member) bool { return m.ID == to }):
		return errBadTransfer
	}
	e.Leader, e.Term = to, e.Term+1
	return nil
}

// Promote makes the learner of a machine a voting member. kubeadm does so when the member runs (util/etcd, MemberPromote): a join that
// fails earlier leaves the other members their quorum.
func (e *Cluster) Promote(machine, name string) {
	m := e.Of(machine)
	m.Name, m.Learner = name, false
}
