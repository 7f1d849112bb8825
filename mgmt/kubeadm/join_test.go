package kubeadm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// stretch calls attempt with a longer and longer time for slow programs, until attempt reports that it has acted while a program ran.
// A fast machine needs one attempt.
func stretch(t *testing.T, takes time.Duration, attempt func(takes time.Duration) (acted bool)) {
	t.Helper()
	for range 4 {
		if attempt(takes) {
			return
		}
		takes *= 4
	}
	t.Errorf("the test did not act in time, even with programs that take %v", takes/4)
}

// learning is how long kubeadm takes where a test has to act while a member is a learner, which it is for a quarter of that.
const learning = 2 * time.Second

// TestLearnerLeftBehind: the join of a control-plane node was interrupted, and another node joins first afterwards. etcd
// accepts one learner at a time.
func TestLearnerLeftBehind(t *testing.T) {
	t.Parallel()
	stretch(t, learning, func(takes time.Duration) bool { return learnerLeftBehind(t, takes) })
}

// learnerLeftBehind reports whether the join was interrupted while its member was a learner.
func learnerLeftBehind(t *testing.T, takes time.Duration) bool {
	t.Helper()
	ctx := t.Context()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
	learner, cancel := make(chan string, 1), make(chan struct{})
	var once sync.Once
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if strings.HasPrefix(l.stepName(s), "instantiate_end/join/masterNode") {
				once.Do(func() {
					go func() {
						defer close(cancel)
						for len(learner) == 0 && ctx.Err() == nil {
							if id := l.learner(); id != "" {
								learner <- l.World.Host(id).Name()
							}
							time.Sleep(time.Millisecond)
						}
					}()
				})
			}
			return next(ctx)
		}
	})
	opID, err := m.Instantiate(ctx, l.Created(), l.Request("instantiate_sandbox.json", clustertest.Sized("complex", 0)))
	if err != nil {
		t.Fatal(err)
	}
	<-cancel
	if err := m.Cancel(ctx, opID, vnflcm.CancelForceful); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Wait(ctx, opID); !errors.Is(err, vnflcm.ErrCancelled) {
		t.Fatal(err)
	}
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if l.learner() == "" {
		return false
	}
	l.DropJournal() // so that the machines are prepared again
	last, first := <-learner, "masterNode-1"
	if last == first {
		first = "masterNode-2"
	}
	joined := make(chan struct{})
	next := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			switch l.stepName(s) {
			case "instantiate_end/runtime/" + last:
				select {
				case <-joined:
				case <-ctx.Done():
				}
			case "instantiate_end/join/" + first:
				defer close(joined)
			}
			return next(ctx)
		}
	})
	l.Must(opID, next.Retry(ctx, opID), next)
	l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
	return true
}

// TestJoinDies: two control-plane nodes join. The machine of the first of them stops when its learner has been added. The other
// join, which waits for its turn, succeeds.
func TestJoinDies(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: learning}})
	died := make(chan string, 1)
	go func() {
		id := l.learner()
		for ; id == "" && t.Context().Err() == nil; id = l.learner() {
			time.Sleep(time.Millisecond)
		}
		name := l.World.Host(id).Name()
		l.stop(name)
		died <- name
	}()
	opID, err := l.Instantiate(t.Context(), l.Created(), l.Request("instantiate_sandbox.json", clustertest.Sized("complex", 0)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Wait(t.Context(), opID); err == nil {
		t.Error("the operation succeeded without a machine")
	}
	members := []string{"masterNode-0", "masterNode-1", "masterNode-2"}
	name := <-died
	l.wantMembers(slices.DeleteFunc(members, func(m string) bool { return m == name })...)
}

// TestJoinsTakeTurns: a control-plane node joins when the etcd member of the one before votes, which is in the middle of its join.
func TestJoinsTakeTurns(t *testing.T) {
	t.Parallel()
	stretch(t, time.Second, func(takes time.Duration) bool { return joinsTakeTurns(t, takes) })
}

// joinsTakeTurns reports whether the second join began before the first had ended. It fails the test if the second join began before
// the member of the first voted.
func joinsTakeTurns(t *testing.T, takes time.Duration) bool {
	t.Helper()
	l := openLab(t, setup{sandbox: sandbox.Config{Takes: takes}})
	var mu sync.Mutex
	var voting []int // when a join begins: members that vote
	begins := func(r sshtest.Record) {
		if r.BuiltIn || r.Argv[0] != "kubeadm" || r.Argv[1] != "join" {
			return
		}
		votes := 0
		for _, m := range l.World.EtcdMembers() {
			if !m.Learner {
				votes++
			}
		}
		mu.Lock()
		defer mu.Unlock()
		voting = append(voting, votes)
	}
	var once sync.Once
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Phase == "instantiate_end" {
				once.Do(func() {
					for _, name := range []string{"masterNode-1", "masterNode-2"} {
						l.host(name).OnCommand(begins)
					}
				})
			}
			return next(ctx)
		}
	})
	opID, err := l.instantiateBy(m, clustertest.Sized("complex", 0))
	l.Must(opID, err, m)
	if diff := cmp.Diff([]int{1, 2}, voting); diff != "" {
		t.Errorf("members of etcd that vote when a control-plane node begins to join:\n%s", diff)
	}
	var joins []sshtest.Record
	for _, name := range []string{"masterNode-1", "masterNode-2"} {
		for _, r := range l.host(name).Commands() {
			if r.Argv[0] == "kubeadm" && r.Argv[1] == "join" {
				joins = append(joins, r)
			}
		}
	}
	slices.SortFunc(joins, func(a, b sshtest.Record) int { return a.Start.Compare(b.Start) })
	if len(joins) != 2 {
		t.Fatalf("%d joins", len(joins))
	}
	return joins[1].Start.Before(joins[0].End)
}

// TestMemberLeftBehind: the join of a control-plane node was cut short when its etcd member had become a voter. The member is
// removed before another node joins: kubeadm waits for the status of all members that it has found, for two minutes.
func TestMemberLeftBehind(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	const left, other = "masterNode-1", "masterNode-2"
	l := newLab(t)
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			switch l.stepName(s) {
			case "instantiate_end/join/" + left:
				return errors.Join(next(ctx), errors.New("cut short"))
			case "instantiate_end/join/" + other:
				return errors.New("not begun")
			}
			return next(ctx)
		}
	})
	opID, err := l.instantiateBy(m, clustertest.Sized("complex", 0))
	l.Fails(opID, err, m)
	if err := m.Close(ctx); err != nil {
		t.Fatal(err)
	}
	l.DropJournal()
	for _, n := range l.World.Nodes() {
		if l.World.Host(n.Machine).Name() == left { // the kubelet had not registered it
			l.runRoot(l.host("masterNode-0"), "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "delete", "node", n.Name)
		}
	}

	begun := make(chan struct{})
	var members []string
	l.when(l.host(other), "kubeadm", "join", func() {
		for _, m := range l.World.EtcdMembers() {
			members = append(members, l.World.Host(m.Machine).Name())
		}
		close(begun)
	})
	next := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if l.stepName(s) == "instantiate_end/runtime/"+left {
				select {
				case <-begun:
				case <-ctx.Done():
				}
			}
			return next(ctx)
		}
	})
	l.Must(opID, next.Retry(ctx, opID), next)
	if diff := cmp.Diff([]string{"masterNode-0"}, members); diff != "" {
		t.Errorf("the members of etcd when %s joins:\n%s", other, diff)
	}
	l.wantMembers("masterNode-0", left, other)
}

// learner returns the id of the machine whose etcd member is a learner; "" if all members vote.
func (l *lab) learner() string {
	for _, m := range l.World.EtcdMembers() {
		if m.Learner {
			return m.Machine
		}
	}
	return ""
}
