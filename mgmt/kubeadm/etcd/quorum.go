package etcd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrQuorum reports that etcd would not have enough healthy members. Every *QuorumError matches it with errors.Is. Retry
// when more members are healthy.
var ErrQuorum = errors.New("etcd: too few healthy members")

// QuorumError reports why members cannot be removed: etcd, and with it the Kubernetes API, would stop or has stopped
// already. It matches ErrQuorum.
type QuorumError struct {
	Targets []string // members to remove
	Voters  int      // voting members after the removal; if Lost, voting members now
	Healthy int      // healthy ones among Voters
	Needed  int      // how many healthy ones a majority needs: more than half of Voters
	Down    []string // names of the unhealthy ones among Voters
	Lost    bool     // etcd has no majority now, so it accepts no change of its members
}

func (e *QuorumError) Error() string {
	var out strings.Builder
	targets := strings.Join(e.Targets, ", ")
	switch {
	case e.Lost:
		fmt.Fprintf(&out, "etcd has no quorum: %d of %d voting members are healthy, %d are needed, so that %s cannot be removed",
			e.Healthy, e.Voters, e.Needed, targets)
	case e.Voters == 0:
		fmt.Fprintf(&out, "removing %s leaves etcd no voting member", targets)
	default:
		fmt.Fprintf(&out, "removing %s leaves etcd %d voting members of which %d are healthy: %d are needed",
			targets, e.Voters, e.Healthy, e.Needed)
	}
	out.WriteString("; ")
	if len(e.Down) > 0 {
		fmt.Fprintf(&out, "bring back %s first, or ", strings.Join(e.Down, ", "))
	}
	if e.Lost {
		out.WriteString("heal the machines that are lost with restore, which continues with the data of a survivor, or ")
	}
	out.WriteString("heal the whole VNF, which makes a new cluster")
	return out.String()
}

// Is reports that a QuorumError matches ErrQuorum.
func (e *QuorumError) Is(target error) bool { return target == ErrQuorum }

// PlanRemoval decides whether all targets may be removed before any of them is replaced. More than half of the voting
// members must be healthy now, because otherwise etcd accepts no change. More than half of the remaining voting members
// must be healthy, because otherwise etcd stops. Learners do not count. PlanRemoval returns the order in which to remove
// the targets: dead members first, so that etcd keeps its quorum after each removal. It ignores a target that is not a
// member or is listed twice, because an earlier removal may have been interrupted. If the targets may not be removed, the
// error is a *QuorumError.
func PlanRemoval(members []Member, targets ...uint64) (order []uint64, err error) {
	var going, staying []Member
	for _, m := range members {
		if slices.Contains(targets, m.ID) {
			going = append(going, m)
		} else {
			staying = append(staying, m)
		}
	}
	if len(going) == 0 {
		return nil, nil
	}
	if now := count(members); !now.quorate() {
		return nil, now.refusal(going, true)
	}
	if left := count(staying); !left.quorate() {
		return nil, left.refusal(going, false)
	}
	slices.SortStableFunc(going, deadFirst)
	return ids(going), nil
}

func deadFirst(a, b Member) int {
	switch {
	case a.Healthy == b.Healthy:
		return 0
	case b.Healthy:
		return -1
	default:
		return 1
	}
}

func ids(members []Member) (out []uint64) {
	for _, m := range members {
		out = append(out, m.ID)
	}
	return out
}

func names(members []Member) (out []string) {
	for _, m := range members {
		out = append(out, m.String())
	}
	return out
}

// tally counts voting members.
type tally struct {
	voters, healthy int
	down            []Member
}

func count(members []Member) (t tally) {
	for _, m := range members {
		switch {
		case m.Learner:
		case m.Healthy:
			t.voters, t.healthy = t.voters+1, t.healthy+1
		default:
			t.voters, t.down = t.voters+1, append(t.down, m)
		}
	}
	return t
}

func (t tally) needed() int   { return t.voters/2 + 1 }
func (t tally) quorate() bool { return t.healthy >= t.needed() }

func (t tally) refusal(going []Member, lost bool) *QuorumError {
	return &QuorumError{Targets: names(going), Voters: t.voters, Healthy: t.healthy, Needed: t.needed(), Down: names(t.down), Lost: lost}
}

// ErrUnhealthy reports that a remaining member is down, so that no control-plane node can join. Retry when the member is
// healthy again, or remove it too.
var ErrUnhealthy = errors.New("etcd: a member is down")

// CheckJoin decides whether a control-plane node can join after the targets have been removed. It returns ErrUnhealthy if a
// remaining member is down: a majority would be enough for etcd, but kubeadm requires an answer from every member (kubeadm
// 1.35, phase check-etcd). Like kubeadm, it ignores members that have never started.
func CheckJoin(members []Member, targets ...uint64) error {
	var down []Member
	for _, m := range members {
		if !m.Healthy && len(m.ClientURLs) > 0 && !slices.Contains(targets, m.ID) {
			down = append(down, m)
		}
	}
	if len(down) == 0 {
		return nil
	}
	list := strings.Join(names(down), ", ")
	return fmt.Errorf("%w: %s; kubeadm lets no control-plane node join until every member answers: bring it back first, or heal it in the same request", ErrUnhealthy, list)
}
