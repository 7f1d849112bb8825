package openstack_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// waits collects what a Manager reports of waits.
type waits struct {
	mu     sync.Mutex
	events []string
	log    bytes.Buffer
}

func (w *waits) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.log.Write(p)
}

func (w *waits) observe(e vnflcm.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e.Kind == vnflcm.StepWaiting {
		w.events = append(w.events, e.Message)
	}
}

// TestWaitIsVisible checks that, while Heat works on a stack, the progress of the operation, an event and the log have the reason why
// the stack cannot be completed. The test prints how many seconds that has taken.
func TestWaitIsVisible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trouble func(*lab)
		reason  []string
	}{
		"a full quota": {func(l *lab) {
			l.mu.Lock()
			defer l.mu.Unlock()
			s := l.stacks[openstack.StackName(l.id)]
			l.event(s, "workerNode", "none", "CREATE_FAILED", "Forbidden: Quota exceeded for instances: Requested 1, but already used 10 of 10 instances (HTTP 403)")
		}, []string{"waiting for CREATE of stack ", "workerNode CREATE_FAILED: Forbidden: Quota exceeded for instances"}},
		"Heat does not answer": {func(l *lab) {
			l.mu.Lock()
			defer l.mu.Unlock()
			l.fault = func(r *http.Request) int {
				if strings.Contains(r.URL.Path, "/heat/") {
					return http.StatusServiceUnavailable
				}
				return 0
			}
		}, []string{"503"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var seen waits
			l := newLab(t, openstack.VimTypeV2)
			l.polls = 1 << 30
			m := l.start(func(cfg *vnflcm.Config) {
				cfg.Observe, cfg.Logger = seen.observe, slog.New(slog.NewTextHandler(&seen, nil))
			})
			await := func(what string, reached func() bool) {
				t.Helper()
				err := retry.Policy{First: 20 * time.Millisecond, Most: 200 * time.Millisecond, Within: time.Minute}.Do(t.Context(), func() error {
					if !reached() {
						return errors.New(what + ": not within a minute")
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}
			opID, err := m.Instantiate(t.Context(), l.id, l.request(""))
			if err != nil {
				t.Fatal(err)
			}
			await("a stack", func() bool { return l.status() == "CREATE_IN_PROGRESS" })
			c.trouble(l)
			began := time.Now()
			has := func(text string) bool {
				return !slices.ContainsFunc(c.reason, func(part string) bool { return !strings.Contains(text, part) })
			}
			await("the reason in the progress", func() bool {
				p, err := m.Progress(t.Context(), opID)
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(p.Steps, func(s vnflcm.RunningStep) bool { return s.Name == "create-stack" && has(s.Reason) })
			})
			t.Logf("in the progress after %.1f s", time.Since(began).Seconds())
			await("the reason in an event and in the log", func() bool {
				seen.mu.Lock()
				defer seen.mu.Unlock()
				inLog := slices.ContainsFunc(strings.Split(seen.log.String(), "\n"), func(line string) bool {
					return strings.Contains(line, "level=INFO msg=step-waiting") && has(line)
				})
				return inLog && slices.ContainsFunc(seen.events, has)
			})
			t.Logf("in an event and in the log after %.1f s", time.Since(began).Seconds())
			l.mu.Lock()
			l.fault = nil
			l.mu.Unlock()
			if err := m.Cancel(t.Context(), opID, vnflcm.CancelForceful); err != nil {
				t.Fatal(err)
			}
			if _, err := m.Wait(t.Context(), opID); !errors.Is(err, vnflcm.ErrCancelled) {
				t.Error(err)
			}
		})
	}
}
