package plan_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// journal is the environment of the tests. It records what has begun and ended, in order.
type journal struct {
	mu   sync.Mutex
	list []string
}

func (j *journal) add(text string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.list = append(j.list, text)
}

// Node implements plan.Environment.
func (j *journal) Node(plan.Machine) mgmt.Node { return mgmt.Node{} }

// Close implements plan.Environment.
func (j *journal) Close() {}

// task returns a task that records that it has run, and returns err.
func task(name string, err error) plan.Kind[*journal] {
	return plan.Kind[*journal]{Name: name, Do: func(_ context.Context, j *journal, _ mgmt.Node) error {
		j.add(name)
		return err
	}}
}

func fails(name string) plan.Kind[*journal] { return task(name, errors.New(name+" failed")) }

func cleanup(name string) plan.Kind[*journal] {
	t := task(name, nil)
	t.Cleanup = true
	return t
}

// TestRun runs one task at a time, so that the tasks run in the order of the plan.
func TestRun(t *testing.T) {
	for _, c := range []struct {
		name  string
		build func(*plan.Plan[*journal])
		want  []string
		err   string
	}{
		{"no task", func(*plan.Plan[*journal]) {}, nil, ""},
		{"in the order of the plan", func(p *plan.Plan[*journal]) {
			p.Once(task("a", nil))
			p.Once(task("b", nil))
		}, []string{"a", "b"}, ""},
		{"a task that fails stops those after it only", func(p *plan.Plan[*journal]) {
			a := p.Once(fails("a"))
			b := p.Once(task("b", nil), a)
			p.Once(task("c", nil), b)
			p.Once(task("d", nil))
		}, []string{"a", "d"}, "a failed"},
		{"errors in the order of the tasks", func(p *plan.Plan[*journal]) {
			p.Once(fails("a"))
			p.Once(fails("b"))
		}, []string{"a", "b"}, "a failed\nb failed"},
		{"cleanup after a failure, and nothing after both", func(p *plan.Plan[*journal]) {
			a := p.Once(fails("a"))
			b := p.Once(task("b", nil), a)
			c := p.Once(cleanup("c"), a, b)
			p.Once(task("d", nil), a, b, c)
		}, []string{"a", "c"}, "a failed"},
		{"after cleanup", func(p *plan.Plan[*journal]) {
			a := p.Once(task("a", nil))
			p.Once(task("c", nil), a, p.Once(cleanup("b"), a))
		}, []string{"a", "b", "c"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var p plan.Plan[*journal]
			p.Begin("hook")
			c.build(&p)
			j := &journal{}
			err := p.Of("hook").Run(t.Context(), j, 1)
			if diff := cmp.Diff(c.want, j.list); diff != "" {
				t.Error(diff)
			}
			if got := fmt.Sprint(err); got != c.err && (err != nil || c.err != "") {
				t.Errorf("error %q, want %q", got, c.err)
			}
		})
	}
}

// TestCancelled checks that after the end of the context only cleanup tasks begin, with a context that is not cancelled.
func TestCancelled(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("stopped")
	var p plan.Plan[*journal]
	p.Begin("hook")
	a := p.Once(plan.Kind[*journal]{Name: "a", Do: func(context.Context, *journal, mgmt.Node) error { cancel(cause); return nil }})
	b := p.Once(task("b", nil), a)
	p.Once(plan.Kind[*journal]{Name: "c", Cleanup: true, Do: func(ctx context.Context, j *journal, _ mgmt.Node) error {
		j.add(fmt.Sprint("cleanup ", ctx.Err()))
		return nil
	}}, a, b)
	j := &journal{}
	if err := p.Of("hook").Run(ctx, j, 9); !errors.Is(err, cause) {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{"cleanup <nil>"}, j.list); diff != "" {
		t.Error(diff)
	}
}

// TestSideBySide checks that independent tasks run concurrently up to the limit, and that tasks with the same Alone do not.
func TestSideBySide(t *testing.T) {
	t.Parallel()
	var now, alone atomic.Int32
	var tooMany atomic.Bool
	meet := make(chan struct{})
	var p plan.Plan[*journal]
	p.Begin("hook")
	for i := range 3 {
		p.On(plan.Machine{ID: fmt.Sprint(i)}, plan.Kind[*journal]{Name: "meet", Do: func(context.Context, *journal, mgmt.Node) error {
			if now.Add(1) == 3 {
				close(meet)
			}
			<-meet
			return nil
		}})
	}
	for range 9 {
		p.Once(plan.Kind[*journal]{Name: "count", Do: func(context.Context, *journal, mgmt.Node) error {
			if now.Add(1) > 3+3 {
				tooMany.Store(true)
			}
			now.Add(-1)
			return nil
		}})
	}
	for range 5 {
		p.Once(plan.Kind[*journal]{Name: "alone", Alone: "etcd", Do: func(context.Context, *journal, mgmt.Node) error {
			defer alone.Add(-1)
			if alone.Add(1) > 1 {
				return errors.New("not alone")
			}
			return nil
		}})
	}
	if err := p.Of("hook").Run(t.Context(), &journal{}, 3); err != nil || tooMany.Load() {
		t.Errorf("%v, more than three at once: %v", err, tooMany.Load())
	}
}

// TestPhases checks that each phase has separate tasks, and that a hook without a phase has no tasks.
func TestPhases(t *testing.T) {
	t.Parallel()
	var p plan.Plan[*journal]
	p.Begin("start")
	p.Once(task("a", nil))
	p.Begin("end")
	p.Once(task("b", nil), p.Once(task("c", nil)), p.All())
	var got []string
	for _, ph := range append(p.Phases, p.Of("other")) {
		for _, task := range ph.Tasks {
			got = append(got, strings.TrimSpace(fmt.Sprint(ph.Hook, " ", task.Name, " ", task.After)))
		}
	}
	if diff := cmp.Diff([]string{"start a []", "end c []", "end b [0]"}, got); diff != "" {
		t.Error(diff)
	}
}
