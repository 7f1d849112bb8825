package timeline_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/timeline"
)

var update = flag.Bool("update", false, "write the golden files")

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }

// step is a step that ran from one second to another.
func step(name, on string, from, to float64) vnflcm.Performed {
	p := vnflcm.Performed{Phase: "instantiate_end", Step: name, Start: at(from), End: at(to), Attempt: 1, Process: "vnfm-a"}
	if on != "" {
		p.On, p.Host = "id of "+on, on
	}
	return p
}

// running is a step that has been running since that second.
func running(name string, from float64, reason string) vnflcm.RunningStep {
	return vnflcm.RunningStep{StepInfo: vnflcm.StepInfo{Phase: "instantiate_end", Name: name}, Since: at(from), Reason: reason}
}

func attempt(n int, process string, p vnflcm.Performed) vnflcm.Performed {
	p.Attempt, p.Process = n, process
	return p
}

func failed(code vnflcm.Code, p vnflcm.Performed) vnflcm.Performed {
	p.Failed, p.Code = true, code
	return p
}

func phase(name string, from, to float64) vnflcm.Performed {
	return vnflcm.Performed{Phase: name, Start: at(from), End: at(to), Attempt: 1}
}

// charts are those of the golden files.
var charts = map[string]*timeline.Chart{
	"instantiate": {Operation: vnflcm.OpInstantiate, State: vnflcm.Completed, Start: at(0), End: at(100), Work: []vnflcm.Performed{
		phase("instantiate", 0, 20), phase("instantiate_end", 20, 99),
		step("create-vm", "node-10", 1, 19), step("create-vm", "node-2", 1, 20), step("create-vm", "node-1", 2, 18),
		step("packages", "node-1", 21, 50), step("packages", "node-2", 21, 55), step("runtime", "node-2", 30, 60), step("packages", "node-10", 22, 40),
		step("init", "node-1", 50, 70), step("join", "node-2", 70, 95), step("join", "node-10", 70, 80), step("register-vim", "", 96, 98),
	}},
	"retried": {Operation: vnflcm.OpHeal, State: vnflcm.Processing, Start: at(0), Error: "a machine did not answer", Work: []vnflcm.Performed{
		phase("heal_start", 0, 10), step("drain", "node-1", 1, 9), failed("ERR_TIMEOUT", step("join", "node-1", 12, 30)),
		attempt(2, "vnfm-a", step("join", "node-1", 3630, 3650)), attempt(3, "vnfm-b", step("labels", "node-1", 3655, 3658)),
	}, Running: []vnflcm.RunningStep{running("ready", 3658, "waiting for all nodes to be Ready: node-2 has\nno network")}},
	"empty": {Operation: vnflcm.OpTerminate, State: vnflcm.Starting},
}

// TestGolden compares pictures with golden files; -update writes them.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, chart := range charts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := draw(t, at(3700), chart)
			file := filepath.Join("testdata", name+".svg")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// draw returns a picture that is well-formed XML without scripts and references.
func draw(t *testing.T, now time.Time, charts ...*timeline.Chart) string {
	t.Helper()
	var out bytes.Buffer
	if err := timeline.WriteSVG(&out, now, charts...); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for tokens := xml.NewDecoder(&out); ; {
		token, err := tokens.Token()
		if errors.Is(err, io.EOF) {
			return text
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !strings.Contains(" svg title style rect g text line ", " "+element.Name.Local+" ") {
			t.Errorf("an element %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			if !strings.Contains(" xmlns viewBox width height role class x y x1 y1 x2 y2 rx transform ", " "+a.Name.Local+" ") {
				t.Errorf("an attribute %s of %s", a.Name.Local, element.Name.Local)
			}
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Errorf("%s=%q", a.Name.Local, a.Value)
			}
		}
	}
}

var (
	schemePattern = regexp.MustCompile(`svg\{(--.*?)\}`)
	colorPattern  = regexp.MustCompile(`--(\w+):(#\w+)`)
	labelPattern  = regexp.MustCompile(`rx="2" class="(\w+)"/><text [^>]*class="(|on\w*)">`)
)

// TestContrast checks that the labels on bars can be read in the light and in the dark scheme (WCAG 2.1, 1.4.3).
func TestContrast(t *testing.T) {
	t.Parallel()
	var all []*timeline.Chart
	for _, name := range slices.Sorted(maps.Keys(charts)) {
		all = append(all, charts[name])
	}
	picture := draw(t, at(3700), all...)
	labels := labelPattern.FindAllStringSubmatch(picture, -1)
	schemes := schemePattern.FindAllStringSubmatch(picture, -1)
	if len(labels) < 3 || len(schemes) != 2 {
		t.Fatalf("%d labels, %d schemes", len(labels), len(schemes))
	}
	colors := map[string]string{}
	for _, scheme := range schemes { // the dark one overrides colours of the light one
		for _, c := range colorPattern.FindAllStringSubmatch(scheme[1], -1) {
			colors[c[1]] = c[2]
		}
		for _, l := range labels {
			of := map[string]string{"": "ink", "on": "on", "onrun": "onrun"}[l[2]]
			bar, label := luminance(t, colors[l[1]]), luminance(t, colors[of])
			if contrast := (max(bar, label) + 0.05) / (min(bar, label) + 0.05); contrast < 4.5 {
				t.Errorf("%q on %q: contrast %.1f in %s", l[2], l[1], contrast, scheme[1])
			}
		}
	}
}

// luminance is the relative luminance of a colour such as #fff or #1c2430.
func luminance(t *testing.T, color string) (sum float64) {
	t.Helper()
	if len(color) == 4 {
		color = "#" + strings.Repeat(color[1:2], 2) + strings.Repeat(color[2:3], 2) + strings.Repeat(color[3:4], 2)
	}
	var c [3]uint8
	if _, err := fmt.Sscanf(color, "#%02x%02x%02x", &c[0], &c[1], &c[2]); err != nil {
		t.Fatalf("colour %q: %v", color, err)
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(c[i]) / 255
		if v <= 0.04045 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += weight * v
	}
	return sum
}

func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"instantiate": "create-vm node-2, packages node-1, init node-1, join node-2, register-vim",
		"retried":     "drain node-1, join node-1, join node-1, labels node-1, ready",
		"empty":       "",
	} {
		var got []string
		for _, s := range charts[name].CriticalPath(at(3700)) {
			got = append(got, strings.TrimSpace(s.Step+" "+s.Host))
		}
		if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// history is a Manager with one operation.
type history struct {
	operation *vnflcm.VnfLcmOpOcc
	work      []vnflcm.Performed
	running   []vnflcm.RunningStep
}

func (h history) Operation(_ context.Context, id string) (*vnflcm.VnfLcmOpOcc, error) {
	if id != h.operation.ID {
		return nil, fmt.Errorf("operation %s: %w", id, vnflcm.ErrNotFound)
	}
	return h.operation, nil
}

func (h history) History(context.Context, string) ([]vnflcm.Performed, error) { return h.work, nil }

func (h history) Progress(context.Context, string) (*vnflcm.Progress, error) {
	return &vnflcm.Progress{Steps: h.running}, nil
}

func TestRead(t *testing.T) {
	t.Parallel()
	joins := running("join", 3, "the password was refused")
	ended := running("reach", 0.5, "")
	h := history{&vnflcm.VnfLcmOpOcc{ID: "op", Operation: vnflcm.OpScale, OperationState: vnflcm.FailedTemp, StartTime: at(0), StateEnteredTime: at(9),
		Error: &vnflcm.ProblemDetails{Detail: "no quota"}}, []vnflcm.Performed{step("join", "", 1, 2), step("reach", "", 0.5, 4)}, []vnflcm.RunningStep{ended, joins}}
	got, err := timeline.Read(t.Context(), h, "op")
	want := &timeline.Chart{Operation: vnflcm.OpScale, State: vnflcm.FailedTemp, Error: "no quota", Start: at(0), End: at(9), Work: h.work, Running: []vnflcm.RunningStep{joins}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	if picture := draw(t, at(9), got); !strings.Contains(picture, "running for 6s&#xA;the password was refused") {
		t.Errorf("no tooltip has the reason of the wait:\n%s", picture)
	}
	if _, err := timeline.Read(t.Context(), h, "another"); !errors.Is(err, vnflcm.ErrNotFound) {
		t.Errorf("error %v", err)
	}
}

// FuzzWriteSVG draws hostile names, times and errors: the picture is well-formed, and has no elements or attributes but its own.
func FuzzWriteSVG(f *testing.F) {
	f.Add("join", "node-1", "error", int64(0), int64(1e9), int64(2e9))
	f.Add("</title><script>alert(1)</script>", "\" onload=\"x", "&#0;\x00\xff\u202e]]>", int64(5e9), int64(-1e9), int64(1e18))
	f.Fuzz(func(t *testing.T, name, host, message string, start, end, now int64) {
		when := func(n int64) time.Time { return began.Add(time.Duration(n)) }
		p := vnflcm.Performed{Phase: host, Step: name, On: host, Host: name, Start: when(start), End: when(end), Attempt: int(now % 4), Process: host, Failed: now%2 == 0, Code: vnflcm.Code(message)}
		later := vnflcm.RunningStep{StepInfo: vnflcm.StepInfo{Phase: host, Name: message, On: host, Host: name}, Since: when(end), Reason: message}
		draw(t, when(now), &timeline.Chart{Operation: vnflcm.LcmOperation(name), State: vnflcm.OperationState(host), Error: message, Start: when(now), Work: []vnflcm.Performed{
			p, {Phase: name, Start: when(start), End: when(end)}}, Running: []vnflcm.RunningStep{later}}, &timeline.Chart{End: when(end), Running: []vnflcm.RunningStep{later}})
	})
}
