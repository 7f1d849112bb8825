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
	// Work has the steps and phases in the order of their beginning. A step whose End is zero is running.
	Work []vnflcm.Performed
}

// Read returns the chart of an operation. The error is vnflcm.ErrNotFound if the operation does not exist or has been purged.
func Read(ctx context.Context, m Manager, opID string) (*Chart, error) {
	operation, err := m.Operation(ctx, opID)
	if err != nil {
		return nil, err
	}
	work, err := m.History(ctx, opID)
	if err != nil {
		return nil, err
	}
	c := &Chart{Operation: operation.Operation, State: operation.OperationState, Start: operation.StartTime, Work: work}
	if operation.Error != nil {
		c.Error = operation.Error.Detail
	}
	if c.State.Final() || c.State == vnflcm.FailedTemp {
		c.End = operation.StateEnteredTime
	}
	return c, nil
}

// AddRunning adds steps that are running, from Running.Steps, except those that the chart knows as ended by now.
func (c *Chart) AddRunning(steps []vnflcm.Performed) {
	for _, s := range steps {
		ended := slices.ContainsFunc(c.Work, func(p vnflcm.Performed) bool {
			return p.Phase == s.Phase && p.Step == s.Step && p.On == s.On && p.End.After(s.Start)
		})
		if !ended {
			c.Work = append(c.Work, s)
		}
	}
}

// steps returns the work without the phases, in the order of its beginning.
func (c *Chart) steps() []vnflcm.Performed {
	steps := slices.DeleteFunc(slices.Clone(c.Work), func(p vnflcm.Performed) bool { return p.Step == "" })
	slices.SortStableFunc(steps, func(a, b vnflcm.Performed) int { return a.Start.Compare(b.Start) })
	return steps
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
