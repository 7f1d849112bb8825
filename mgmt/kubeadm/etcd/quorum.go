package etcd

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrQuorum is what a *QuorumError is. A retry helps once more members are healthy.
var ErrQuorum = errors.New("etcd: too few healthy members")

// QuorumError says why members cannot be removed: etcd, and the Kubernetes API with it, would stop, or has
// stopped already. errors.Is(err, ErrQuorum) holds.
type QuorumError struct {
	Targets []string // what was to be removed
	Voters  int      // voting members that would be left; with Lost, those that there are
	Healthy int      // of them
	Needed  int      // how many healthy ones that takes: more than half of Voters
	Down    []string // the unhealthy ones among Voters, by name
	Lost    bool     // there is no majority even now: etcd takes no change of its members
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
	out.WriteString("heal the whole VNF, which makes a new cluster")
	return out.String()
}

// Is makes it an ErrQuorum.
func (e *QuorumError) Is(target error) bool { return target == ErrQuorum }

// PlanRemoval decides whether the targets may be out all at once, before any of them is replaced: more than
// half of the voting members must be healthy now, or etcd takes no change, and more than half of those that are
// left, or it stops. Learners do not count. It returns the order of removal, those that are dead first: etcd
// keeps its quorum at each step then. A target that is no member, or named twice, is passed over: removal may
// have been cut short. A *QuorumError says why not.
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

// tally counts the members that vote.
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

// ErrUnhealthy says that a member that stays is down, so that no control-plane node can join. A retry helps once
// it is back.
var ErrUnhealthy = errors.New("etcd: a member is down")

// CheckJoin decides whether a control-plane node could join once the targets are out. etcd would take the new
// member with a majority; kubeadm insists that every member answers (kubeadm 1.35, phase check-etcd). Members that
// have never started are passed over, as by kubeadm.
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
