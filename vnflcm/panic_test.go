package vnflcm_test

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// mine panics at one point.
type mine struct {
	mu sync.Mutex
	at string
}

func (m *mine) lay(at string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at = at
}

func (m *mine) step(place string) {
	m.mu.Lock()
	at := m.at
	m.mu.Unlock()
	if at == place {
		var nothing func()
		nothing()
	}
}

type minedCloud struct {
	*cloud
	mine *mine
}

func (c *minedCloud) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	c.mine.step("Plan")
	return c.cloud.Plan(ctx, op)
}

func (c *minedCloud) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	c.mine.step("Instantiate")
	return c.cloud.Instantiate(ctx, op)
}

func (c *minedCloud) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	c.mine.step("Resources")
	return c.cloud.Resources(ctx, op)
}

type minedCluster struct {
	*cluster
	mine *mine
}

func (d *minedCluster) Validate(ctx context.Context, op *vnflcm.Operation) error {
	d.mine.step("Validate")
	return d.cluster.Validate(ctx, op)
}

func (d *minedCluster) Preview(context.Context, *vnflcm.Operation) ([]vnflcm.PlannedTask, error) {
	d.mine.step("Preview")
	return nil, nil
}

func (d *minedCluster) Hooks() vnflcm.Hooks {
	hooks := d.cluster.Hooks()
	hooks[vnflcm.InstantiateEnd] = func(ctx context.Context, op *vnflcm.Operation) error {
		d.mine.step("a hook")
		if err := vnflcm.Each(ctx, 0, []string{"a", "b"}, func(context.Context, string) error { d.mine.step("Each"); return nil }); err != nil {
			return err
		}
		_, err := vnflcm.Run(ctx, op, vnflcm.Step[int]{Name: "mined",
			Probe: func(context.Context) (int, bool, error) { d.mine.step("Probe"); return 0, false, nil },
			Do:    func(context.Context) (int, error) { d.mine.step("Do"); return 1, nil }})
		return err
	}
	return hooks
}

// minedToys returns toys with a mine in every function that the Manager calls.
func minedToys(t *testing.T, log *syncBuffer) (*toys, *mine) {
	t.Helper()
	m := &mine{}
	return newToys(t, func(c *vnflcm.Config) {
		c.Infra["toy"] = &minedCloud{c.Infra["toy"].(*cloud), m}
		c.Mgmt["cluster"] = &minedCluster{c.Mgmt["cluster"].(*cluster), m}
		c.Intercept = func(ctx context.Context, _ vnflcm.StepInfo, next func(context.Context) error) error {
			m.step("Intercept")
			return next(ctx)
		}
		c.Observe = func(vnflcm.Event) { m.step("Observe") }
		c.Logger = slog.New(slog.NewTextHandler(log, nil))
	}), m
}

// syncBuffer is a buffer for several goroutines.
type syncBuffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// TestPanics checks that a panic of a driver is an error of the operation, which can be retried, rolled back and failed, and that the log
// has the stack.
func TestPanics(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"Instantiate", "Resources", "a hook", "Each", "Probe", "Do", "Intercept"} {
		for way, leave := range map[string]func(*toys, *mine, string){
			"retried": func(x *toys, m *mine, opID string) {
				m.lay("")
				must(t, x.Retry(t.Context(), opID))
				x.wait(opID, nil, vnflcm.Completed)
			},
			"rolled back": func(x *toys, m *mine, opID string) {
				m.lay("")
				must(t, x.Rollback(t.Context(), opID))
				_, _ = x.wait(opID, nil, vnflcm.RolledBack)
			},
			"failed": func(x *toys, _ *mine, opID string) { must(t, x.Fail(t.Context(), opID)) },
		} {
			t.Run(place+", "+way, func(t *testing.T) {
				t.Parallel()
				var log syncBuffer
				x, m := minedToys(t, &log)
				id := x.create()
				m.lay(place)
				opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				occ, err := x.wait(opID, err, vnflcm.FailedTemp)
				wantIs(t, err, vnflcm.ErrProgramming)
				if !strings.Contains(occ.Error.Detail, "nil pointer dereference") {
					t.Errorf("the error is %q", occ.Error.Detail)
				}
				if n := strings.Count(log.String(), "minedC") + strings.Count(log.String(), "minedToys"); n == 0 {
					t.Errorf("the log lacks the stack:\n%s", &log)
				}
				leave(x, m, opID)
				m.lay("")
				x.instantiated("plain") // the Manager is usable
			})
		}
	}
}

// TestPanicsOfRequests checks that a panic during the check of a request refuses the request and changes nothing.
func TestPanicsOfRequests(t *testing.T) {
	t.Parallel()
	for _, place := range []string{"Plan", "Validate", "Preview"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			var log syncBuffer
			x, m := minedToys(t, &log)
			id := x.create()
			m.lay(place)
			before := x.records()
			_, err := x.Preview(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			wantIs(t, err, vnflcm.ErrProgramming)
			if place != "Preview" {
				_, err = x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
				wantIs(t, err, vnflcm.ErrProgramming)
			}
			if len(before) != len(x.records()) || !strings.Contains(log.String(), "minedC") {
				t.Errorf("%d records before, %d after; log:\n%s", len(before), len(x.records()), &log)
			}
			m.lay("")
			opID, err := x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
			x.wait(opID, err, vnflcm.Completed)
		})
	}
}

// TestPanicsOfObservers checks that an operation continues when the observer panics.
func TestPanicsOfObservers(t *testing.T) {
	t.Parallel()
	var log syncBuffer
	x, m := minedToys(t, &log)
	m.lay("Observe")
	x.instantiated("plain")
	if !strings.Contains(log.String(), "nil pointer") {
		t.Errorf("the log lacks the panic:\n%s", &log)
	}
}
