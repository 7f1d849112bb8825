package progress_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func step(kind vnflcm.EventKind, name, host, message string, d time.Duration) vnflcm.Event {
	return vnflcm.Event{Time: time.Now(), Kind: kind, Operation: vnflcm.OpScale, StepInfo: vnflcm.StepInfo{OperationID: "1", Phase: "scale_end", Name: name, On: "id-" + host, Host: host},
		Duration: d, Message: message}
}

func state(s vnflcm.OperationState, d time.Duration, message string) vnflcm.Event {
	return vnflcm.Event{Kind: vnflcm.OperationChanged, Operation: vnflcm.OpScale, State: s, Duration: d, Message: message, StepInfo: vnflcm.StepInfo{OperationID: "1"}}
}

// Plain lines, as in a file.
func Example() {
	screen := progress.New(os.Stdout, progress.Options{})
	defer screen.Close()
	screen.Title("a worker more")
	for _, e := range []vnflcm.Event{
		state(vnflcm.Processing, 0, ""),
		step(vnflcm.StepStarted, "join", "worker-1", "", 0),
		step(vnflcm.StepProgress, "join", "worker-1", "half of it", 0),
		step(vnflcm.StepWaiting, "join", "worker-1", "waiting for the API: refused", 0),
		step(vnflcm.StepDone, "join", "worker-1", "", 1234*time.Millisecond),
		state(vnflcm.Completed, 2*time.Second, ""),
	} {
		screen.Observe(e) // vnflcm.Config.Observe calls it
	}
	// Output:
	// == a worker more
	// -- SCALE PROCESSING
	//    worker-1     scale_end/join: half of it
	//    worker-1     scale_end/join: waiting for the API: refused
	//    ok      1.23s  worker-1     scale_end/join
	// -- SCALE COMPLETED after 2s, 1 steps
}

// buffer is safe for concurrent use.
type buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// seen is what a terminal shows after a text: of the sequences of the package, ESC[J erases from the cursor to the end, and ESC[nA moves
// the cursor up.
func seen(text string) []string {
	lines, at := []string{""}, 0
	for text != "" {
		switch {
		case strings.HasPrefix(text, "\x1b[J"):
			lines, text = append(lines[:at:at], ""), text[3:]
		case strings.HasPrefix(text, "\x1b["):
			sequence, rest, _ := strings.Cut(text[2:], "A")
			up := 0
			for _, d := range sequence {
				up = up*10 + int(d-'0')
			}
			at, text = at-up, rest
		case text[0] == '\n':
			if at, text = at+1, text[1:]; at == len(lines) {
				lines = append(lines, "")
			}
		default:
			end := strings.IndexAny(text, "\n\x1b")
			if end < 0 {
				end = len(text)
			}
			lines[at], text = lines[at]+text[:end], text[end:]
		}
	}
	return lines
}

// TestTerminal: steps that are done stay, running steps are below them and at most as wide as the terminal, and nothing of them is
// left at the end.
func TestTerminal(t *testing.T) {
	t.Setenv("NO_COLOR", "1")
	var out buffer
	screen := progress.New(&out, progress.Options{Width: 60})
	screen.Expect(3)
	screen.Observe(state(vnflcm.Starting, 0, ""))
	screen.Observe(step(vnflcm.StepStarted, "create", "a-name-of-thirty-characters-xyz", "", 0))
	screen.Observe(step(vnflcm.StepStarted, "join", "w", "", 0))
	screen.Observe(step(vnflcm.StepProgress, "join", "w", "half\nway", 0))
	screen.Observe(step(vnflcm.StepDone, "create", "a-name-of-thirty-characters-xyz", "", time.Second))
	now := seen(out.String())
	want := []string{"-- SCALE STARTING", "   ok         1s  a-name-of-thirty-characters-xyz scale_end/create"}
	if diff := cmp.Diff(want, now[:2]); diff != "" || len(now) != 5 || !strings.Contains(now[2], "w") || !strings.HasPrefix(now[3], "   1 of 3 steps done, 0s, about 0s left") {
		t.Errorf("%s\nseen %q", diff, now)
	}
	for _, l := range now[2:] {
		if len([]rune(l)) > 60 {
			t.Errorf("wider than the terminal: %q", l)
		}
	}
	screen.Close()
	if now := seen(out.String()); len(now) != 3 || now[2] != "" {
		t.Errorf("left: %q", now)
	}
}

// TestColours are used on terminals unless the user does not want them.
func TestColours(t *testing.T) {
	for _, c := range []struct {
		none, term string
		width      int
		want       bool
	}{{"", "xterm", 80, true}, {"1", "xterm", 80, false}, {"", "dumb", 80, false}, {"", "xterm", 0, false}} {
		t.Setenv("NO_COLOR", c.none)
		t.Setenv("TERM", c.term)
		var out buffer
		screen := progress.New(&out, progress.Options{Width: c.width})
		screen.Observe(step(vnflcm.StepFailed, "join", "w", "no", time.Second))
		screen.Close()
		if got := strings.Contains(out.String(), "\x1b[31m   FAIL"); got != c.want {
			t.Errorf("%+v: %q", c, out.String())
		}
	}
}

// TestInterrupt: an interrupt is one line, and steps that it stops are no failures.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var out buffer
	screen := progress.New(&out, progress.Options{Interrupted: ctx})
	screen.Observe(step(vnflcm.StepFailed, "before", "w", "no disk", time.Second))
	cancel()
	screen.Observe(step(vnflcm.StepFailed, "join", "w", "context canceled", time.Second))
	screen.Observe(state(vnflcm.FailedTemp, 0, "context canceled"))
	for !strings.Contains(out.String(), "interrupted: stopping") {
		time.Sleep(time.Millisecond)
	}
	screen.Close()
	if got := out.String(); !strings.Contains(got, "FAIL       1s  w            scale_end/before  no disk") || !strings.Contains(got, "stop       1s  w            scale_end/join\n") ||
		strings.Contains(got, "canceled") || strings.Count(got, "interrupted") != 1 {
		t.Errorf("%s", got)
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var out buffer
	screen := progress.New(&out, progress.Options{JSON: true, Width: 80})
	screen.Title("a %s", "part")
	screen.Observe(step(vnflcm.StepDone, "join", "w", "", 1500*time.Millisecond))
	screen.Table(nil)
	screen.Close()
	var got []map[string]any
	for line := range strings.Lines(out.String()) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		delete(object, "time")
		got = append(got, object)
	}
	want := []map[string]any{
		{"kind": "title", "message": "a part"},
		{"kind": "step-done", "vnfLcmOpOccId": "1", "operation": "SCALE", "phase": "scale_end", "step": "join", "vnfcInstanceId": "id-w", "host": "w", "seconds": 1.5},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
