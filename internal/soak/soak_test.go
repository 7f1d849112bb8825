package soak_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// parallel is how many cases run side by side: most of the time they wait.
const parallel = 4

// TestSoak runs the cases of consecutive seeds, for as long as VNFKIT_SOAK says. Without it, one of each lifecycle.
func TestSoak(t *testing.T) {
	first, cases := uint64(1), uint64(len(lifecycles))
	var until time.Time
	if d, err := time.ParseDuration(os.Getenv("VNFKIT_SOAK")); err == nil {
		first, cases, until = uint64(time.Now().UnixNano())%1_000_000_000, 1<<32, time.Now().Add(d) //nolint:gosec // positive
	}
	if seed, err := strconv.ParseUint(os.Getenv("VNFKIT_SEED"), 10, 64); err == nil {
		first = seed
		if until.IsZero() {
			cases = 1
		}
	}
	var next, ended atomic.Uint64
	t.Cleanup(func() { t.Logf("%d cases; the first has the seed %d", ended.Load(), first) })
	for worker := range parallel {
		t.Run(strconv.Itoa(worker), func(t *testing.T) {
			t.Parallel()
			for {
				n := next.Add(1) - 1
				if n >= cases || !until.IsZero() && time.Now().After(until) {
					return
				}
				t.Run(fmt.Sprintf("seed %d", first+n), func(t *testing.T) { runCase(t, first+n) })
				ended.Add(1)
			}
		})
	}
}

// undisturbed is a lifecycle in which no fault happens.
type undisturbed struct {
	once   sync.Once
	events []int   // of each operation
	states []state // at its end
}

var baselines = make([]undisturbed, len(lifecycles))

// runCase runs a lifecycle, disturbed as the seed says.
func runCase(t *testing.T, seed uint64) {
	t.Helper()
	of := int(seed % uint64(len(lifecycles))) //nolint:gosec // small
	want := &baselines[of]
	want.once.Do(func() { want.measure(t, lifecycles[of]) })
	if len(want.states) == 0 {
		t.Fatal("the lifecycle does not even work when nothing goes wrong")
	}
	p := lifecycles[of].open(t)
	id := p.Created()
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // no secret
	t.Logf("VNFKIT_SEED=%d: %s", seed, lifecycles[of].name)
	for i, op := range lifecycles[of].operations() {
		p.disturbed(op, id, random, want.events[i])
		if diff := cmp.Diff(want.states[i], p.awaitState(id, want.states[i])); diff != "" {
			t.Fatalf("VNFKIT_SEED=%d: after %q of %q the state is another one than when nothing goes wrong:\n%s", seed, op.name, lifecycles[of].name, diff)
		}
	}
}

// measure runs the lifecycle undisturbed.
func (u *undisturbed) measure(t *testing.T, c lifecycle) {
	t.Helper()
	p := c.open(t)
	id := p.Created()
	for _, op := range c.operations() {
		n := 0
		var mu sync.Mutex
		pr, m := p.start(func() {
			mu.Lock()
			defer mu.Unlock()
			n++
		})
		_, err := pr.Run(t.Context(), m, func(m *vnflcm.Manager) (string, error) { return op.begin(p, m, id) })
		must(t, err)
		u.events, u.states = append(u.events, n), append(u.states, p.state(id))
	}
}

// start begins a process. onEvent is called when a step begins in it, and before each program on a machine and each request to a cluster.
func (p *lab) start(onEvent func()) (*process, *vnflcm.Manager) {
	p.t.Helper()
	pr := newProcess(p.dial)
	m := p.ProcessOver(pr.Dial, func(c *vnflcm.Config) {
		p.addCNF(c, pr.Dial)
		for _, former := range p.former {
			former.AttachNext(c)
		}
		p.former = append(p.former, pr)
		pr.configure(c, func() {
			for _, h := range p.hosts() { // a step may have made new ones
				h.OnCommand(func(sshtest.Record) { onEvent() })
			}
			onEvent()
		})
	})
	if p.cluster != nil {
		p.cluster.Observe(func(string, string) { onEvent() })
	}
	return pr, m
}

// attempts is in how many processes an operation is disturbed, at most.
const attempts = 3

// disturbed runs an operation to its end: disturbed at random in some processes, then in one that nothing happens to.
func (p *lab) disturbed(op operation, id string, random *rand.Rand, events int) {
	p.t.Helper()
	begin := func(m *vnflcm.Manager) (string, error) { return op.begin(p, m, id) }
	for n := range attempts + 2 {
		d, after := disturbances[0], 1
		if n < attempts {
			d, after = disturbances[random.IntN(len(disturbances))], 1+random.IntN(events)
		}
		p.t.Logf("%s: %s after %d of %d events", op.name, d.name, after, events)
		p.cut = p.cut || d.cuts
		a := p.attempt(d, after, random.Uint64())
		err := a.run(begin)
		occ, found := p.Operation(p.t.Context(), a.opID)
		if found != nil {
			p.t.Fatalf("%s: %v, %v", op.name, found, err)
		}
		switch occ.OperationState {
		case vnflcm.Completed:
			return
		case vnflcm.RolledBack: // cancelled in STARTING
		case vnflcm.FailedTemp:
			p.t.Logf("%s: FAILED_TEMP: %.500v", op.name, err)
			begin = func(m *vnflcm.Manager) (string, error) { return a.opID, m.Retry(p.t.Context(), a.opID) }
		default:
			begin = func(*vnflcm.Manager) (string, error) { return a.opID, nil }
		}
	}
	p.t.Fatalf("%s: the operation does not succeed, although nothing goes wrong any more. The log ends with %s", op.name, last(p.Log()))
}

// attempt makes a process that meets a disturbance after so many events.
func (p *lab) attempt(d disturbance, after int, seed uint64) *attempt {
	p.t.Helper()
	a := &attempt{lab: p, random: rand.New(rand.NewPCG(seed, 0)), begun: make(chan struct{})} //nolint:gosec // no secret
	var count atomic.Int64
	a.process, a.manager = p.start(func() {
		select {
		case <-a.begun:
			if count.Add(1) == int64(after) {
				a.disturb(d)
			}
		default: // while the request is checked
		}
	})
	return a
}

// run begins or continues an operation, and returns when it or the process has ended.
func (a *attempt) run(begin func(*vnflcm.Manager) (string, error)) error {
	_, err := a.Run(a.t.Context(), a.manager, func(m *vnflcm.Manager) (string, error) {
		defer close(a.begun)
		var err error
		a.opID, err = begin(m)
		return a.opID, err
	})
	a.mu.Lock()
	defer a.mu.Unlock()
	a.over = true
	if a.mending != nil {
		a.mending.Stop()
	}
	a.mend()
	return err
}

// disturb lets the disturbance happen, unless the process has ended.
func (a *attempt) disturb(d disturbance) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.over {
		return
	}
	d.do(a)
	if d.mend > 0 {
		a.mending = time.AfterFunc(a.upTo(d.mend), a.mend)
	}
}

// mend ends all that is wrong with machines and clusters.
func (p *lab) mend() {
	for _, h := range p.living() {
		h.SetFaults(sshtest.Faults{})
	}
	if p.cluster != nil {
		p.cluster.Heal()
	}
}

// awaitState returns the state when it is as wanted, or has had time to become so: pods end, and machines are swept, by themselves.
func (p *lab) awaitState(id string, want state) state {
	p.t.Helper()
	got := p.state(id)
	for deadline := time.Now().Add(time.Minute); !cmp.Equal(want, got) && time.Now().Before(deadline); got = p.state(id) {
		time.Sleep(20 * time.Millisecond)
	}
	return got
}

func last(log string) string { return log[max(0, len(log)-8192):] }
