package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// diary collects what a Manager reports of waits.
type diary struct {
	mu     sync.Mutex
	began  time.Time
	events []string
	log    bytes.Buffer // at level INFO, an object for each entry
}

func (d *diary) observe(e vnflcm.Event) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case e.Kind == vnflcm.OperationChanged && e.State == vnflcm.Processing:
		d.began = e.Time
	case e.Kind == vnflcm.StepWaiting:
		d.events = append(d.events, fmt.Sprintf("%v %s/%s/%s: %d: %s", e.Time.Sub(d.began).Round(time.Second), e.Phase, e.Name, e.Host, e.Tries, e.Message))
	}
}

// keep makes a Manager write into the diary.
func (d *diary) keep(cfg *vnflcm.Config) {
	cfg.Observe, cfg.Logger = d.observe, slog.New(slog.NewJSONHandler(&d.log, nil))
}

func (d *diary) told() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.events
}

// logged returns the messages of the log about waits. The Manager must be closed.
func (d *diary) logged(t *testing.T) (out []string) {
	t.Helper()
	for line := range strings.Lines(d.log.String()) {
		var entry struct{ Msg, Phase, Step, Host, Message string }
		must(t, json.Unmarshal([]byte(line), &entry))
		if entry.Msg == string(vnflcm.StepWaiting) {
			out = append(out, fmt.Sprintf("%s/%s/%s: %s", entry.Phase, entry.Step, entry.Host, entry.Message))
		}
	}
	return out
}

// TestWaiting checks when, and with which reason, an operation reports what its step waits for: as events, in the log, and as the
// progress of the operation.
func TestWaiting(t *testing.T) {
	t.Parallel()
	errRefused := errors.New("the password canary-4711-x was refused")
	slow := retry.Policy{First: 8 * time.Second, Most: 8 * time.Second, For: "SSH of node"}
	for name, c := range map[string]struct {
		at   string // the step that waits
		wait func(context.Context)
		want []string
		now  []vnflcm.RunningStep // after 10 s
	}{
		"attempts that fail": {at: "instantiate/create/master-0", wait: func(ctx context.Context) {
			_ = retry.Policy{First: time.Minute, Most: time.Minute, Within: 20 * time.Second}.Do(ctx, func() error { return errRefused })
		}, want: []string{"4s instantiate/create/: 1: the password *** was refused", "12s instantiate/create/: 1: the password *** was refused"},
			now: []vnflcm.RunningStep{{StepInfo: vnflcm.StepInfo{Phase: "instantiate", Name: "create", On: "master-0"}, Reason: "the password *** was refused", Tries: 1}}},
		"an attempt that does not end": {at: "instantiate_end/init/", wait: func(ctx context.Context) {
			_ = slow.Do(ctx, func() error { time.Sleep(30 * time.Second); return nil })
		}, want: []string{"4s instantiate_end/init/: 0: waiting for SSH of node: no result yet", "12s instantiate_end/init/: 0: waiting for SSH of node: no result yet",
			"28s instantiate_end/init/: 0: waiting for SSH of node: no result yet"},
			now: []vnflcm.RunningStep{{StepInfo: vnflcm.StepInfo{Phase: "instantiate_end", Name: "init"}, Reason: "waiting for SSH of node: no result yet"}}},
		"a short wait": {at: "instantiate_end/init/", wait: func(ctx context.Context) {
			_ = retry.Policy{First: time.Second, Most: time.Second, Within: 2 * time.Second}.Do(ctx, func() error { return errRefused })
			time.Sleep(time.Minute)
		}, now: []vnflcm.RunningStep{{StepInfo: vnflcm.StepInfo{Phase: "instantiate_end", Name: "init"}}}},
		"no wait": {at: "instantiate_end/init/", wait: func(context.Context) { time.Sleep(time.Minute) },
			now: []vnflcm.RunningStep{{StepInfo: vnflcm.StepInfo{Phase: "instantiate_end", Name: "init"}}}},
		"a wait in a wait, then another": {at: "instantiate_end/init/", wait: func(ctx context.Context) {
			outer := retry.Begin(ctx, "the machine")
			defer outer.End()
			inner := retry.Begin(ctx, "SSH")
			inner.Failed(errRefused)
			time.Sleep(5 * time.Second)
			inner.End()
			outer.Failed(errors.New("it restarts"))
			outer.Failed(errors.New(strings.Repeat("é", 1000)))
			time.Sleep(10 * time.Second)
		}, want: []string{"4s instantiate_end/init/: 1: waiting for SSH: the password *** was refused", "12s instantiate_end/init/: 2: waiting for the machine: " + strings.Repeat("é", 10)},
			now: []vnflcm.RunningStep{{StepInfo: vnflcm.StepInfo{Phase: "instantiate_end", Name: "init"}, Reason: "waiting for the machine: " + strings.Repeat("é", 10), Tries: 2}}},
		"a long wait": {at: "instantiate_end/init/", wait: func(ctx context.Context) {
			w := retry.Begin(ctx, "quorum")
			defer w.End()
			time.Sleep(25 * time.Minute)
		}, want: func() (out []string) {
			for _, at := range []time.Duration{4, 12, 28, 60, 124, 252, 508, 808, 1108, 1408} {
				out = append(out, fmt.Sprintf("%v instantiate_end/init/: 0: waiting for quorum: no result yet", at*time.Second))
			}
			return out
		}(), now: []vnflcm.RunningStep{{StepInfo: vnflcm.StepInfo{Phase: "instantiate_end", Name: "init"}, Reason: "waiting for quorum: no result yet"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(t *testing.T) {
				var d diary
				x := newToys(t, d.keep)
				x.world.after = func(ctx context.Context, at string) error {
					if at == c.at {
						c.wait(ctx)
					}
					return nil
				}
				began := time.Now()
				opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain", AdditionalParams: params(t, `{"password":"canary-4711-x"}`)})
				must(t, err)
				time.Sleep(time.Until(began.Add(10 * time.Second)))
				synctest.Wait()
				y := x.other(nil)
				there, err := y.Progress(t.Context(), opID)
				must(t, err)
				now, err := x.Progress(t.Context(), opID)
				must(t, err)
				ignored := cmpopts.IgnoreFields(vnflcm.RunningStep{}, "OperationID", "Host", "Attempt", "Since")
				shortened := cmp.Transformer("short", cut)
				if diff := cmp.Diff(c.now, now.Steps, ignored, shortened); diff != "" || !now.Here || now.State != vnflcm.Processing {
					t.Errorf("progress %+v:\n%s", now, diff)
				}
				if len(now.Steps[0].Reason) > 1<<10 || now.Steps[0].Since.Before(began) {
					t.Errorf("a reason of %d bytes since %v", len(now.Steps[0].Reason), now.Steps[0].Since)
				}
				if diff := cmp.Diff(&vnflcm.Progress{OperationID: opID, State: vnflcm.Processing, Process: now.Process}, there); diff != "" || now.Process == "" {
					t.Errorf("in another process:\n%s", diff)
				}
				_, err = x.Wait(t.Context(), opID)
				must(t, err)
				closeManager(t, y.Manager)
				closeManager(t, x.Manager)
				if diff := cmp.Diff(c.want, d.told(), shortened); diff != "" {
					t.Errorf("events:\n%s", diff)
				}
				var entries []string
				for _, e := range c.want {
					_, rest, _ := strings.Cut(e, " ")
					at, rest, _ := strings.Cut(rest, ": ")
					_, message, _ := strings.Cut(rest, ": ")
					entries = append(entries, at+": "+message)
				}
				if diff := cmp.Diff(entries, d.logged(t), shortened); diff != "" {
					t.Errorf("log:\n%s", diff)
				}
			})
		})
	}
}

// cut shortens a row of letters in a reason.
func cut(s string) string {
	if before, _, found := strings.Cut(s, strings.Repeat("é", 10)); found {
		return before + strings.Repeat("é", 10)
	}
	return s
}

// TestProgress checks the progress of an operation that no process works on, and of what a driver reports or waits for.
func TestProgress(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var d diary
		grantable := make(chan struct{})
		x := newToys(t, func(cfg *vnflcm.Config) {
			d.keep(cfg)
			cfg.Granter = granter(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) {
				<-grantable
				return &vnflcm.Grant{ID: "g"}, nil
			})
		})
		x.world.failAt("instantiate_end/init/", errCut)
		x.cfg.Mgmt["cluster"] = &spy{cluster{world: x.world}, func(op *vnflcm.Operation) {
			if op.Phase() != "instantiate_end" {
				return
			}
			must(t, vnflcm.Do(t.Context(), op, "playbook", "", func(ctx context.Context) error {
				op.Report(ctx, "half of it")
				time.Sleep(5 * time.Second)
				return nil
			}))
		}}
		if _, err := x.Progress(t.Context(), "missing"); !errors.Is(err, vnflcm.ErrNotFound) {
			t.Errorf("a missing operation: %v", err)
		}
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		time.Sleep(5 * time.Second)
		got, err := x.Progress(t.Context(), opID)
		must(t, err)
		if len(got.Steps) != 1 || got.Steps[0].Phase != vnflcm.PhaseBegin || got.Steps[0].Name != "" || got.Steps[0].Reason != "waiting for the grant: no result yet" {
			t.Errorf("while the grant is awaited: %+v", got)
		}
		close(grantable)
		x.wait(opID, nil, vnflcm.FailedTemp)
		got, err = x.Progress(t.Context(), opID)
		must(t, err)
		if diff := cmp.Diff(&vnflcm.Progress{OperationID: opID, State: vnflcm.FailedTemp}, got); diff != "" {
			t.Error(diff)
		}
		closeManager(t, x.Manager)
		want := []string{"begin//: waiting for the grant: no result yet", "instantiate_end/playbook/: half of it"}
		if diff := cmp.Diff(want, d.logged(t)); diff != "" {
			t.Error(diff)
		}
	})
}
