package kubeadm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// batchOf returns the number of the batch in the phase of a step, "" for another phase.
func batchOf(step string) string {
	phase, _, _ := strings.Cut(step, "/")
	_, batch, _ := strings.Cut(phase, ".")
	batch, _, _ = strings.Cut(batch, ":")
	return batch
}

// changes prepares a cluster of three control-plane nodes and two workers and a second package, and returns the function that begins to change to
// this package.
func changes(t *testing.T) (prepared, func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error)) {
	t.Helper()
	l := openLab(t, setup{sandbox: rebuilding})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 1))...)
	l.RunStatefulSet(kubeadm.VIMID(id), 2)
	second := secondPackage(t, packageDir, everyNode)
	return prepared{instance: id, from: l.Snapshot(), setup: &setup{sandbox: rebuilding}, onboard: second}, func(ctx context.Context, m *vnflcm.Manager, l *lab, id string) (string, error) {
		return m.ChangeVnfPkg(ctx, id, changing(l.t, `{}`))
	}
}

// isCut reports whether the crash tests of a change cut a step: those of the batch with the first worker and of the one with the second
// control-plane node. Unless VNFKIT_FULL is set, steps that other scenarios cut too are left out.
func isCut(step string) bool {
	name := strings.Split(step, "/")[1]
	return slices.Contains([]string{"1", "4"}, batchOf(step)) &&
		(fulltest.Enabled() || slices.Contains([]string{"cordon", "remove-member", "change-vm", "delete-node", "join", "members", "uncordon"}, name))
}

// TestCrashOfChange kills the process at every point of every step of a change of the package. The process that resumes must reach the same end.
func TestCrashOfChange(t *testing.T) {
	t.Parallel()
	p, begin := changes(t)
	s := scenario{name: "change the package", running: true, begin: begin}
	steps, want := s.undisturbed(t, p)
	var cuts []cut
	for _, step := range steps {
		if isCut(step) {
			cuts = append(cuts, cutsAt(step, cutPointsOf(step))...)
		}
	}
	crash(t, s.dying(p, cuts, want))
}

// TestCrashOfRollback kills the process at every point of every step of the rollback of a change of the package.
func TestCrashOfRollback(t *testing.T) {
	t.Parallel()
	p, opID, want := paused(t)
	l, _ := p.open(t)
	recorded := new(crashtest.Steps)
	l.RollBack(opID, l.Process(recorded.Record))
	var cuts []cut
	for _, info := range recorded.List() {
		if step := l.stepName(info); isCut(step) {
			cuts = append(cuts, cutsAt(step, cutPointsOf(step))...)
		}
	}
	if !fulltest.Enabled() {
		cuts = crashtest.Sample(cuts, func(c cut) (step, name string) { return batchOf(c.step), c.String() })
	}
	for _, c := range cuts {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			l, id := p.open(t)
			doomed := l.doomed(c.step, c.point)
			_, err := doomed.Run(t.Context(), l.Process(doomed.Attach), func(m *vnflcm.Manager) (string, error) { return opID, m.Rollback(t.Context(), opID) })
			if err != nil {
				t.Fatal(err)
			}
			occ, err := doomed.Resume(t.Context(), l.Process(doomed.AttachNext), opID)
			if occ == nil || occ.OperationState != vnflcm.RolledBack || strings.Contains(err.Error(), "crashtest:") {
				t.Fatalf("operation %+v: %v", occ, err)
			}
			if diff := cmp.Diff(want, l.outcome(id)); diff != "" {
				t.Errorf("another end than before the change:\n%s", diff)
			}
		})
	}
}

// paused prepares a change of the package that has paused after two workers and two control-plane nodes. want is the state before the change.
func paused(t *testing.T) (p prepared, opID string, want outcome) {
	t.Helper()
	p, _ = changes(t)
	l, id := p.open(t)
	want = l.outcome(id)
	opID, err := l.ChangeVnfPkg(t.Context(), id, changing(t, `{"pause_after": 4}`))
	if err := l.Fails(opID, err); !errors.Is(err, vnflcm.ErrPaused) {
		t.Fatalf("error %v", err)
	}
	p.from = l.Snapshot()
	return p, opID, want
}

// fault is where an operation fails: before or after the work of a step, phase/name/machine.
type fault struct {
	step  string
	after bool
}

func (f fault) String() string {
	if f.after {
		return f.step + " after"
	}
	return f.step + " before"
}

var errFault = errors.New("the test lets the step fail")

// inject lets a process fail at f.
func (l *lab) inject(f fault) func(*vnflcm.Config) {
	return func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if l.stepName(s) != f.step {
				return next(ctx)
			}
			if f.after {
				if err := next(ctx); err != nil {
					return err
				}
			}
			return errFault
		}
	}
}

// TestRollBackChange lets a change of the package fail at each step of a batch with a worker and of one with a control-plane node, and rolls it
// back: the cluster is as it was before, whatever of the batch was done.
func TestRollBackChange(t *testing.T) {
	t.Parallel()
	p, begin := changes(t)
	l, id := p.open(t)
	before := l.outcome(id)
	recorded := new(crashtest.Steps)
	m := l.Process(recorded.Record)
	opID, err := begin(t.Context(), m, l, id)
	l.Must(opID, err, m)
	if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
		t.Errorf("another end than before:\n%s", diff)
	}
	var faults []fault
	for _, info := range recorded.List() {
		step := l.stepName(info)
		if slices.Contains([]string{"1", "4"}, batchOf(step)) {
			faults = append(faults, fault{step, false}, fault{step, true})
		}
	}
	if !fulltest.Enabled() {
		faults = slices.DeleteFunc(faults, func(f fault) bool {
			name := strings.Split(f.step, "/")[1]
			return !f.after || !slices.Contains([]string{"drain", "remove-member", "change-vm", "join", "uncordon"}, name)
		})
	}
	for _, f := range faults {
		t.Run(f.String(), func(t *testing.T) {
			t.Parallel()
			l, id := p.open(t)
			m := l.Process(l.inject(f))
			opID, err := begin(t.Context(), m, l, id)
			l.Fails(opID, err, m)
			l.RollBack(opID)
			if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			l.WantStatefulSet(kubeadm.VIMID(id), 2)
		})
	}
}
