package etcd_test

import (
	"errors"
	"math/bits"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
)

// membersOf returns members from letters: h(ealthy), d(ead), l(earner, healthy), x (learner, dead). Ids count from 1.
func membersOf(letters string) []etcd.Member {
	var out []etcd.Member
	for i, kind := range letters {
		out = append(out, etcd.Member{ID: uint64(i) + 1, Name: "m" + string(rune('1'+i)),
			Learner: strings.ContainsRune("lx", kind), Healthy: strings.ContainsRune("hl", kind)})
	}
	return out
}

func TestPlanRemoval(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, members string
		targets       []uint64
		order         []uint64
		refused       *etcd.QuorumError // without Targets
	}{
		{"1: the only one", "h", []uint64{1}, nil, &etcd.QuorumError{Needed: 1}},
		{"1: the only one, dead", "d", []uint64{1}, nil, &etcd.QuorumError{Voters: 1, Needed: 1, Down: []string{"m1"}, Lost: true}},
		{"2: a healthy one", "hh", []uint64{1}, []uint64{1}, nil},
		{"2: the dead one", "hd", []uint64{2}, nil, &etcd.QuorumError{Voters: 2, Healthy: 1, Needed: 2, Down: []string{"m2"}, Lost: true}},
		{"2: both", "hh", []uint64{1, 2}, nil, &etcd.QuorumError{Needed: 1}},
		{"3: a healthy one", "hhh", []uint64{2}, []uint64{2}, nil},
		{"3: the dead one", "hdh", []uint64{2}, []uint64{2}, nil},
		{"3: a healthy one beside a dead one", "hdh", []uint64{1}, nil, &etcd.QuorumError{Voters: 2, Healthy: 1, Needed: 2, Down: []string{"m2"}}},
		{"3: one of two dead", "ddh", []uint64{1}, nil, &etcd.QuorumError{Voters: 3, Healthy: 1, Needed: 2, Down: []string{"m1", "m2"}, Lost: true}},
		{"3: both dead", "ddh", []uint64{1, 2}, nil, &etcd.QuorumError{Voters: 3, Healthy: 1, Needed: 2, Down: []string{"m1", "m2"}, Lost: true}},
		{"3: two, the dead one first", "hdh", []uint64{1, 2}, []uint64{2, 1}, nil},
		{"3: all", "hhh", []uint64{1, 2, 3}, nil, &etcd.QuorumError{Needed: 1}},
		{"4: the dead one", "hhhd", []uint64{4}, []uint64{4}, nil},
		{"4: a healthy one beside a dead one", "hhhd", []uint64{1}, []uint64{1}, nil},
		{"4: two healthy ones beside a dead one", "hhhd", []uint64{1, 2}, nil, &etcd.QuorumError{Voters: 2, Healthy: 1, Needed: 2, Down: []string{"m4"}}},
		{"4: half is dead", "hhdd", []uint64{3}, nil, &etcd.QuorumError{Voters: 4, Healthy: 2, Needed: 3, Down: []string{"m3", "m4"}, Lost: true}},
		{"5: both dead ones", "hdhdh", []uint64{2, 4}, []uint64{2, 4}, nil},
		{"5: one of two dead ones", "hdhdh", []uint64{2}, []uint64{2}, nil},
		{"5: a healthy one beside two dead ones", "hdhdh", []uint64{1}, nil, &etcd.QuorumError{Voters: 4, Healthy: 2, Needed: 3, Down: []string{"m2", "m4"}}},
		{"5: three at once", "hdhdh", []uint64{1, 2, 4}, []uint64{2, 4, 1}, nil},
		{"5: three dead", "hdddh", []uint64{2, 3, 4}, nil, &etcd.QuorumError{Voters: 5, Healthy: 2, Needed: 3, Down: []string{"m2", "m3", "m4"}, Lost: true}},
		{"a learner counts for nothing", "hl", []uint64{1}, nil, &etcd.QuorumError{Needed: 1}},
		{"a dead learner is in nobody's way", "hhx", []uint64{1}, []uint64{1}, nil},
		{"a learner is removed", "hx", []uint64{2}, []uint64{2}, nil},
		{"a learner is removed without a quorum", "hdx", []uint64{3}, nil, &etcd.QuorumError{Voters: 2, Healthy: 1, Needed: 2, Down: []string{"m2"}, Lost: true}},
		{"named twice", "hhh", []uint64{2, 2}, []uint64{2}, nil},
		{"removed before", "hh", []uint64{9}, nil, nil},
		{"one of two removed before", "hhd", []uint64{3, 9}, []uint64{3}, nil},
		{"nothing", "d", nil, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			order, err := etcd.PlanRemoval(membersOf(c.members), c.targets...)
			refused, _ := errors.AsType[*etcd.QuorumError](err)
			if refused != nil {
				if len(refused.Targets) == 0 || !errors.Is(err, etcd.ErrQuorum) {
					t.Errorf("%+v", refused)
				}
				refused.Targets = nil
			}
			if diff := cmp.Diff(c.refused, refused); diff != "" {
				t.Errorf("refused:\n%s", diff)
			}
			if diff := cmp.Diff(c.order, order); diff != "" {
				t.Errorf("order:\n%s", diff)
			}
		})
	}
}

func TestCheckJoin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, members string
		targets       []uint64
		want          string
	}{
		{"all healthy", "hhh", []uint64{1}, ""},
		{"the dead one goes", "hhd", []uint64{3}, ""},
		{"both dead ones go", "hdhdh", []uint64{2, 4}, ""},
		{"one of two dead ones stays", "hdhdh", []uint64{2}, "a member is down: m4; kubeadm lets no control-plane node join until every member answers: " +
			"bring it back first, or heal it in the same request"},
		{"a dead learner stays", "hhx", []uint64{1}, "a member is down: m3;"},
	} {
		members := membersOf(c.members)
		for i := range members {
			members[i].ClientURLs = []string{"https://10.0.0.1:2379"}
		}
		err := etcd.CheckJoin(members, c.targets...)
		if (c.want == "") != (err == nil) || err != nil && (!errors.Is(err, etcd.ErrUnhealthy) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := etcd.CheckJoin([]etcd.Member{{ID: 1, Learner: true}}); err != nil {
		t.Errorf("a member that has never started: %v", err)
	}
}

func TestQuorumErrorSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		"hdh": "removing m1 leaves etcd 2 voting members of which 1 are healthy: 2 are needed; bring back m2 first, or heal the whole VNF, which makes a new cluster",
		"h":   "removing m1 leaves etcd no voting member; heal the whole VNF, which makes a new cluster",
		"ddh": "etcd has no quorum: 1 of 3 voting members are healthy, 2 are needed, so that m1 cannot be removed; " +
			"bring back m1, m2 first, or heal the machines that are lost with restore, which continues with the data of a survivor, or heal the whole VNF, which makes a new cluster",
	} {
		_, err := etcd.PlanRemoval(membersOf(members), 1)
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

// survives is a model of PlanRemoval. It tries all orders of removal, and reports whether in one of them more than half of
// the voting members are healthy before and after each removal.
func survives(voters, healthy, targets uint) bool {
	majority := bits.OnesCount(voters&healthy) > bits.OnesCount(voters)/2
	if !majority || targets == 0 {
		return majority
	}
	for id := uint(1); id <= targets; id <<= 1 {
		if targets&id != 0 && survives(voters&^id, healthy, targets&^id) {
			return true
		}
	}
	return false
}

func FuzzPlanRemoval(f *testing.F) {
	f.Add(uint8(5), uint8(0b11111), uint8(0b11101), uint8(0b00010))
	f.Add(uint8(3), uint8(0b111), uint8(0b101), uint8(0b011))
	f.Add(uint8(7), uint8(0b1011111), uint8(0b1111011), uint8(0b0100110))
	f.Fuzz(func(t *testing.T, size, voters, healthy, targets uint8) {
		n := uint(size % 8)
		all := uint(1)<<n - 1
		v, h, gone := uint(voters)&all, uint(healthy)&all, uint(targets)&all
		var members []etcd.Member
		var ids []uint64
		for id := uint(1); id <= all; id <<= 1 {
			members = append(members, etcd.Member{ID: uint64(id), Learner: v&id == 0, Healthy: h&id != 0})
			if gone&id != 0 {
				ids = append(ids, uint64(id))
			}
		}
		order, err := etcd.PlanRemoval(members, ids...)
		if want := gone == 0 || survives(v, h, gone); want != (err == nil) {
			t.Fatalf("voters %b, healthy %b, targets %b: %v", v, h, gone, err)
		}
		if err != nil {
			return
		}
		for _, id := range order { // in the order that is returned, each removal keeps the quorum
			if !survives(v, h, uint(id)) {
				t.Fatalf("voters %b, healthy %b: removing %b", v, h, id)
			}
			v, gone = v&^uint(id), gone&^uint(id)
		}
		if gone != 0 {
			t.Errorf("%b are not in the order %v", gone, order)
		}
	})
}

func TestMemberAt(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		peer, addr string
		want       bool
	}{
		{"https://10.0.0.1:2380", "10.0.0.1", true},
		{"https://10.0.0.11:2380", "10.0.0.1", false},
		{"https://10.0.0.1:2380", "::ffff:10.0.0.1", true},
		{"https://[2001:db8::1]:2380", "2001:db8:0::1", true},
		{"https://master-10-0-0-1:2380", "10.0.0.1", false},
		{"10.0.0.1", "10.0.0.1", false},
		{"", "10.0.0.1", false},
	} {
		if got := (etcd.Member{PeerURLs: []string{c.peer}}).At(netip.MustParseAddr(c.addr)); got != c.want {
			t.Errorf("%s at %s: %v", c.peer, c.addr, got)
		}
	}
	if (etcd.Member{PeerURLs: []string{"https://10.0.0.1:2380"}}).At(netip.Addr{}) {
		t.Error("a member is at no address")
	}
}
