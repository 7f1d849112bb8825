package kubernetes_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestWaitIsVisible checks that, while pods of a chart do not become ready, the progress of the operation, an event and the log have the
// reason. The test prints how many seconds that has taken.
func TestWaitIsVisible(t *testing.T) {
	t.Parallel()
	l := newLab(t, kubernetes.VimTypeV1)
	var log logText
	m := l.logged(&log)
	began := time.Now()
	params := strings.Replace(twoReleases, `"greeting=a`, `"nodeSelector.never=ready", "greeting=a`, 1)
	opID, err := m.Instantiate(t.Context(), l.id, l.request("simple", params))
	if err != nil {
		t.Fatal(err)
	}
	has := func(text string) bool {
		return strings.Contains(text, "web-w1") && strings.Contains(text, "Unschedulable")
	}
	for _, c := range []struct {
		where   string
		visible func() bool
	}{
		{"progress", func() bool {
			p, err := m.Progress(t.Context(), opID)
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(p.Steps, func(s vnflcm.RunningStep) bool { return s.Name == "await-ready" && has(s.Reason) })
		}},
		{"event", func() bool {
			l.mu.Lock()
			defer l.mu.Unlock()
			return slices.ContainsFunc(l.said, func(e vnflcm.Event) bool { return has(e.Message) })
		}},
		{"log", func() bool {
			return slices.ContainsFunc(strings.Split(log.String(), "\n"), func(line string) bool {
				return strings.Contains(line, "level=INFO msg=step-waiting") && has(line)
			})
		}},
	} {
		err := retry.Policy{First: 50 * time.Millisecond, Most: 200 * time.Millisecond, Within: time.Minute}.Do(t.Context(), func() error {
			if !c.visible() {
				return errors.New("the reason is not in the " + c.where)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		t.Logf("in the %s after %.1f s", c.where, time.Since(began).Seconds())
	}
	if err := m.Cancel(t.Context(), opID, vnflcm.CancelForceful); err != nil {
		t.Fatal(err)
	}
	if err := l.fails(opID, nil); !errors.Is(err, vnflcm.ErrCancelled) {
		t.Error(err)
	}
}
