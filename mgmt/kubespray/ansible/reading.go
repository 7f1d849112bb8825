package ansible

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/internal/mask"
)

// Bounds of what is stored of a run besides its counts. The hosts of a playbook may print any amount of text.
const (
	maxLast     = 20
	maxLines    = 20
	maxFailures = 1000
	maxText     = 2000 // bytes of a message
	maxName     = 300  // bytes of the name of a play or task, and of a line
)

// reading makes events of the output of a run. The readers of both callbacks call it.
type reading struct {
	observe func(Event)
	masker  *mask.Masker

	play, task string
	// held are failures that may still be ignored or rescued: neither the JSON lines nor, for a rescued block, the text say
	// so when the task fails. When the host continues, the failure was ignored or rescued.
	held  map[string]Event
	order []string // hosts of held, and some that have been removed from held
	// passed has the last ignored or rescued failure of each host.
	passed map[string]Event
	// failed are the failures of the run, known after its end. broken has their hosts.
	failed []Event
	broken map[string]bool
	last   ring[Event]
	lines  ring[string]
	recap  map[string]HostRecap
	// counted is true if there was a recap, even an empty one.
	counted bool
	// complaint is the last error that Ansible itself printed, apart from results of tasks.
	complaint string
	spoken    string // the last line that is not empty
}

func newReading(observe func(Event), m *mask.Masker) *reading {
	if observe == nil {
		observe = func(Event) {}
	}
	return &reading{
		observe: observe, masker: m, held: map[string]Event{}, passed: map[string]Event{}, broken: map[string]bool{}, recap: map[string]HostRecap{},
		last: ring[Event]{size: maxLast}, lines: ring[string]{size: maxLines},
	}
}

// startPlay is called for the beginning of a play.
func (r *reading) startPlay(name string) {
	r.play, r.task = r.name(name), ""
	r.tell(Event{Kind: PlayStarted})
}

// startTask is called for the beginning of a task.
func (r *reading) startTask(name string) {
	r.task = r.name(name)
	r.tell(Event{Kind: TaskStarted})
}

// startRecap is called for the beginning of a recap. Only the last recap counts. A host can forge a recap: Ansible breaks
// its warnings, which quote texts of modules and ssh, into lines at white space. But no host can print anything after the
// end of the last play, where the true recap is.
func (r *reading) startRecap() {
	r.recap, r.counted = map[string]HostRecap{}, true
}

// result is called for the result of a task on a host. It holds failures back.
func (r *reading) result(e Event) {
	r.pass(e.Host)
	e.Play = r.play
	if e.Task == "" {
		e.Task = r.task
	}
	e.Message = clean(r.masker.Mask(e.Message), maxText)
	if !e.failure() {
		r.tell(e)
		return
	}
	r.held[e.Host] = e
	if len(r.order) > 2*len(r.held)+1000 {
		r.order = slices.DeleteFunc(r.order, func(host string) bool {
			_, held := r.held[host]
			return !held || host == e.Host
		})
	}
	r.order = append(r.order, e.Host)
}

// pass reports the failure of a host that is held back as ignored.
func (r *reading) pass(host string) {
	e, held := r.held[host]
	if !held {
		return
	}
	delete(r.held, host)
	e.Ignored = true
	r.passed[host] = e
	r.tell(e)
}

// end reports all failures that are held back, after the end of the output. A failure was ignored if the recap counts no
// failure of its host. If a host was reported as ignored because it ran tasks of an always section, but the recap counts a
// failure, end reports the failure again.
func (r *reading) end() {
	for _, host := range r.order {
		e, held := r.held[host]
		if !held {
			continue
		}
		recap, counted := r.recap[host]
		if counted && recap.Failed == 0 && recap.Unreachable == 0 {
			r.pass(host)
			continue
		}
		delete(r.held, host)
		r.fail(e)
	}
	r.order = nil
	for _, host := range slices.Sorted(maps.Keys(r.passed)) {
		if recap := r.recap[host]; recap.Failed+recap.Unreachable > 0 && !r.broken[host] {
			e := r.passed[host]
			e.Ignored = false
			r.fail(e)
		}
	}
}

// fail reports a failure that was not ignored.
func (r *reading) fail(e Event) {
	r.broken[e.Host] = true
	if len(r.failed) < maxFailures {
		r.failed = append(r.failed, e)
	}
	r.tell(e)
}

func (r *reading) tell(e Event) {
	if e.Play == "" {
		e.Play = r.play
	}
	if e.Task == "" {
		e.Task = r.task
	}
	r.last.add(e)
	r.observe(e)
}

// say stores a line for error messages.
func (r *reading) say(line string) {
	line = clean(r.masker.Mask(line), maxName)
	if strings.TrimSpace(line) == "" {
		return
	}
	r.lines.add(line)
	r.spoken = line
	if strings.HasPrefix(line, "ERROR!") || strings.HasPrefix(line, "[ERROR]:") {
		r.complaint = line
	}
}

// said returns the line that best explains a run that ended without a failure on a host.
func (r *reading) said() string {
	if r.complaint != "" {
		return r.complaint
	}
	return r.spoken
}

// name returns the name of a play or task on one line. It drops the text after a line break, because only one of the
// callbacks prints it.
func (r *reading) name(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(clean(r.masker.Mask(text), maxName))
}

// clean removes control characters, which could command a terminal, and bounds the length.
func clean(text string, limit int) string {
	return bounded.Text(strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			return c
		case c == '\t' || c == utf8.RuneError:
			return ' '
		case unicode.IsControl(c) || unicode.Is(unicode.Cf, c):
			return -1
		}
		return c
	}, text), limit)
}

// oneLine joins the lines of text.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ring stores the last elements, as many as size.
type ring[T any] struct {
	size  int
	items []T
}

func (r *ring[T]) add(item T) {
	if len(r.items) >= 2*r.size {
		r.items = append(r.items[:0], r.items[len(r.items)-r.size+1:]...)
	}
	r.items = append(r.items, item)
}

func (r *ring[T]) all() []T { return r.items[max(0, len(r.items)-r.size):] }
