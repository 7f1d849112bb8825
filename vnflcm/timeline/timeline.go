package timeline

import (
	"context"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Manager is the part of *vnflcm.Manager that Read uses.
type Manager interface {
	Operation(ctx context.Context, opID string) (*vnflcm.VnfLcmOpOcc, error)
	History(ctx context.Context, opID string) ([]vnflcm.Performed, error)
	Progress(ctx context.Context, opID string) (*vnflcm.Progress, error)
}

// Chart is what a picture shows of one operation.
type Chart struct {
	Operation vnflcm.LcmOperation
	State     vnflcm.OperationState
	// Error is the reason of a failure, "" if there is none.
	Error string
	// Start is when the operation began. Zero: when the first step began.
	Start time.Time
	// End is when the operation ended. Zero: it has not ended.
	End time.Time
	// Work has the finished steps and phases, and the failed steps, in the order of their beginning.
	Work []vnflcm.Performed
	// Running has the steps that are running, with what they wait for.
	Running []vnflcm.RunningStep
}

// Read returns the chart of an operation. The error is vnflcm.ErrNotFound if the operation does not exist or has been purged.
func Read(ctx context.Context, m Manager, opID string) (*Chart, error) {
	operation, err := m.Operation(ctx, opID)
	if err != nil {
		return nil, err
	}
	now, err := m.Progress(ctx, opID) // before the history, so that no step is missing
	if err != nil {
		return nil, err
	}
	work, err := m.History(ctx, opID)
	if err != nil {
		return nil, err
	}
	c := &Chart{Operation: operation.Operation, State: operation.OperationState, Start: operation.StartTime, Work: work}
	c.addRunning(now.Steps)
	if operation.Error != nil {
		c.Error = operation.Error.Detail
	}
	if c.State.Final() || c.State == vnflcm.FailedTemp {
		c.End = operation.StateEnteredTime
	}
	return c, nil
}

// addRunning adds steps that are running, except those that the history has as ended by now.
func (c *Chart) addRunning(steps []vnflcm.RunningStep) {
	for _, s := range steps {
		ended := slices.ContainsFunc(c.Work, func(p vnflcm.Performed) bool {
			return p.Phase == s.Phase && p.Step == s.Name && p.On == s.On && p.End.After(s.Since)
		})
		if !ended {
			c.Running = append(c.Running, s)
		}
	}
}

// steps returns the steps without the phases, in the order of their beginning. The End of a running step is zero.
func (c *Chart) steps() []vnflcm.Performed {
	steps := slices.DeleteFunc(slices.Clone(c.Work), func(p vnflcm.Performed) bool { return p.Step == "" })
	for _, r := range c.Running {
		if r.Name != "" {
			steps = append(steps, vnflcm.Performed{Phase: r.Phase, Step: r.Name, On: r.On, Host: r.Host, Start: r.Since.Round(0)})
		}
	}
	slices.SortStableFunc(steps, func(a, b vnflcm.Performed) int { return a.Start.Compare(b.Start) })
	return steps
}

// reasonOf returns what a running step waits for.
func (c *Chart) reasonOf(step vnflcm.Performed) string {
	for _, r := range c.Running {
		if r.Phase == step.Phase && r.Name == step.Step && r.On == step.On {
			return r.Reason
		}
	}
	return ""
}

// CriticalPath returns the steps that decided how long the operation took, in their order: the last step that ended, the step
// that had ended last when that one began, and so on. A step on the same machine counts as the last if it had ended at most a
// hundredth of the whole time earlier: the history does not say which step waited for which. Running steps count as ending at
// now.
func (c *Chart) CriticalPath(now time.Time) []vnflcm.Performed {
	steps := c.steps()
	for i := range steps {
		if steps[i].End.IsZero() {
			steps[i].End = now
		}
	}
	var path []vnflcm.Performed
	for _, i := range criticalPath(steps) {
		path = append(path, steps[i])
	}
	return path
}

// criticalPath returns the positions of the steps on the critical path. The steps have an end.
func criticalPath(steps []vnflcm.Performed) (path []int) {
	if len(steps) == 0 {
		return nil
	}
	last := 0
	for i, s := range steps {
		if s.End.After(steps[last].End) {
			last = i
		}
	}
	slack := steps[last].End.Sub(steps[0].Start) / 100
	for i := last; i >= 0; i = predecessor(steps, i, slack) {
		path = append(path, i)
	}
	slices.Reverse(path)
	return path
}

// predecessor returns the step that had ended last when a step began, -1 if there is none.
func predecessor(steps []vnflcm.Performed, next int, slack time.Duration) int {
	best := -1
	var bestEnd time.Time
	for i, s := range steps {
		if s.End.After(steps[next].Start) || !s.Start.Before(steps[next].Start) {
			continue
		}
		end := s.End
		if s.On == steps[next].On {
			end = end.Add(slack)
		}
		if best < 0 || end.After(bestEnd) {
			best, bestEnd = i, end
		}
	}
	return best
}
