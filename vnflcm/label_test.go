package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMachineNames checks the short and the long name of a VNFC, also if a hostile package has chosen the name.
func TestMachineNames(t *testing.T) {
	t.Parallel()
	cps := []vnflcm.ConnectionPoint{{CPD: "none"}, {CPD: "ssh", Fixed: []netip.Addr{netip.MustParseAddr("198.18.1.51")}}}
	for name, c := range map[string]struct {
		v     vnflcm.VNFC
		host  string
		short string
		long  string
	}{
		"whole":        {vnflcm.VNFC{ID: "e3c4", ResourceID: "r", VDU: "workerNode", Name: "workerNode-0", CPs: cps}, "worker-198-18-1-51", "workerNode-0", "workerNode-0 (worker-198-18-1-51, 198.18.1.51, e3c4)"},
		"no host name": {vnflcm.VNFC{ID: "e3c4", Name: "workerNode-0", CPs: cps}, "", "workerNode-0", "workerNode-0 (198.18.1.51, e3c4)"},
		"no name":      {vnflcm.VNFC{ID: "e3c4", VDU: "workerNode", CPs: cps}, "worker", "e3c4", "e3c4 (worker, 198.18.1.51)"},
		"only an id":   {vnflcm.VNFC{ID: "e3c4"}, "", "e3c4", "e3c4"},
		"planned":      {vnflcm.VNFC{VDU: "workerNode"}, "", "new workerNode", "new workerNode"},
		"named alike":  {vnflcm.VNFC{ID: "web-0", Name: "web-0"}, "web-0", "web-0", "web-0"},
		"hostile":      {vnflcm.VNFC{ID: "e3c4", Name: "a\nb\x1b[31m\u202ec\xff"}, "h\r", "a�b�[31m�c�", "a�b�[31m�c� (h�, e3c4)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff([]string{c.short, c.long}, []string{c.v.Label(), c.v.Describe(c.host)}); diff != "" {
				t.Error(diff)
			}
		})
	}
	if long := (vnflcm.VNFC{Name: strings.Repeat("é", 1000)}); len(long.String()) > 100 {
		t.Errorf("%d bytes", len(long.String()))
	}
}

// christened is a toy cloud whose machines have names that a hostile package has chosen.
type christened struct{ *cloud }

func (c christened) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	r, err := c.cloud.Resources(ctx, op)
	for i := range r.VNFCs {
		r.VNFCs[i].Name = "node\n\x1b[2J" + strings.Repeat("x", 200) + r.VNFCs[i].ID
	}
	return r, err
}

// TestOneNameForAMachine lets a step fail on a machine, and compares the names that the machine has in the error, the document, the events,
// the log, the history and the progress.
func TestOneNameForAMachine(t *testing.T) {
	t.Parallel()
	const id = "worker-0"
	label := vnflcm.VNFC{Name: "node\n\x1b[2J" + strings.Repeat("x", 200)}.Label()
	var mu sync.Mutex
	var log bytes.Buffer
	names := map[string]bool{}
	see := func(where, name string) {
		mu.Lock()
		defer mu.Unlock()
		names[where+": "+strings.ReplaceAll(name, label, "LABEL")] = true
	}
	var manager atomic.Pointer[vnflcm.Manager]
	x := newToys(t, func(cfg *vnflcm.Config) {
		cfg.Infra["toy"] = christened{cfg.Infra["toy"].(*cloud)}
		cfg.Logger = slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		cfg.Observe = func(e vnflcm.Event) {
			if e.Name == "join" && e.On == id {
				see("event", e.Host)
			}
			if e.Name == "join" && e.On == id && e.Kind == vnflcm.StepFailed {
				see("message of the event", e.Message)
			}
		}
		cfg.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name != "join" || s.On != id {
				return next(ctx)
			}
			p, err := manager.Load().Progress(ctx, s.OperationID)
			must(t, err)
			for _, r := range p.Steps {
				if r.On == id {
					see("progress", r.Host)
				}
			}
			return fmt.Errorf("%s: %w", s.Host, errRefused)
		}
	})
	manager.Store(x.Manager)
	occ, err := x.instantiate(x.create(), "plain", vnflcm.FailedTemp)
	see("error", err.Error())
	see("document", occ.Error.Detail)
	see("step", occ.Error.Steps[0].Host)
	see("message of the step", occ.Error.Steps[0].Message)
	history, err := x.History(t.Context(), occ.ID)
	must(t, err)
	for _, p := range history {
		if p.Step == "join" && p.On == id {
			see("history", p.Host)
		}
	}
	x.start()
	for line := range strings.Lines(log.String()) {
		var entry struct{ Step, On, Host, State, Error string }
		must(t, json.Unmarshal([]byte(line), &entry))
		if entry.Step == "join" && entry.On == id {
			see("log", entry.Host)
		}
		if entry.State == string(vnflcm.FailedTemp) {
			see("log of the failure", entry.Error)
		}
	}
	want := []string{"document: instantiate_end: join on LABEL (worker-0): connection refused", "error: instantiate_end: join on LABEL (worker-0): connection refused",
		"event: LABEL", "history: LABEL", "log of the failure: instantiate_end: join on LABEL (worker-0): connection refused", "log: LABEL", "message of the event: connection refused", "message of the step: connection refused",
		"progress: LABEL", "step: LABEL"}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(names))); diff != "" {
		t.Error(diff)
	}
	if !strings.HasPrefix(label, "node��[2Jxxx") || len(label) > 120 {
		t.Errorf("the name is not safe to print: %q", label)
	}
}
