package ansible

import (
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is kept of a run besides its counts. The hosts that a playbook works on may write as much as they like.
const (
	maxLast     = 20
	maxLines    = 20
	maxFailures = 1000
	maxText     = 2000 // bytes of a message
	maxName     = 300  // bytes of the name of a play or task, and of a line
)

// reading makes events of what a run says, whichever callback says it.
type reading struct {
	observe func(Event)
	masker  *masker

	play, task string
	// held are failures of which it is not known yet whether the playbook lets them pass: neither the JSON lines nor a
	// rescued block in the text say so when it happens. The host that goes on does.
	held  map[string]Event
	order []string // hosts of held, and some that are held no more
	// passed is the last failure of a host that was let pass.
	passed map[string]Event
	// failed are the failures that count, after the end, and broken their hosts.
	failed []Event
	broken map[string]bool
	last   ring[Event]
	lines  ring[string]
	recap  map[string]HostRecap
	// counted tells that there was a recap, be it an empty one.
	counted bool
	// complaint is what Ansible itself said last, beside the results of tasks.
	complaint string
	spoken    string // the last line that says anything
}

func newReading(observe func(Event), m *masker) *reading {
	if observe == nil {
		observe = func(Event) {}
	}
	return &reading{
		observe: observe, masker: m, held: map[string]Event{}, passed: map[string]Event{}, broken: map[string]bool{}, recap: map[string]HostRecap{},
		last: ring[Event]{size: maxLast}, lines: ring[string]{size: maxLines},
	}
}

// startPlay begins a play.
func (r *reading) startPlay(name string) {
	r.play, r.task = r.name(name), ""
	r.tell(Event{Kind: PlayStarted})
}

// startTask begins a task.
func (r *reading) startTask(name string) {
	r.task = r.name(name)
	r.tell(Event{Kind: TaskStarted})
}

// startRecap begins the counts of the run. The last ones count: what hosts have modules and ssh say is in warnings of
// Ansible, which are broken into lines at white space, so that a host can have a line say what it likes, but none after
// the end of the last play, where the true counts are.
func (r *reading) startRecap() {
	r.recap, r.counted = map[string]HostRecap{}, true
}

// result takes what became of a task on a host. A failure is held back.
func (r *reading) result(e Event) {
	r.pass(e.Host)
	e.Play = r.play
	if e.Task == "" {
		e.Task = r.task
	}
	e.Message = clean(r.masker.mask(e.Message), maxText)
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

// pass tells of the failure of a host that is held back: it was let pass.
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

// end tells of all failures that are held back, once nothing more comes. Those of hosts that the recap knows no
// failure of were let pass; of one that only tasks of an always section came after, the recap knows better, and it is
// told of again.
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

// fail tells of a failure that counts.
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

// say keeps a line for people.
func (r *reading) say(line string) {
	line = clean(r.masker.mask(line), maxName)
	if strings.TrimSpace(line) == "" {
		return
	}
	r.lines.add(line)
	r.spoken = line
	if strings.HasPrefix(line, "ERROR!") || strings.HasPrefix(line, "[ERROR]:") {
		r.complaint = line
	}
}

// said is what explains a run that ended without a failure on a host.
func (r *reading) said() string {
	if r.complaint != "" {
		return r.complaint
	}
	return r.spoken
}

// name makes the name of a play or task fit for one line. The text callback wraps none; what follows a line break in a
// name is dropped, since only one of the callbacks tells it.
func (r *reading) name(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(clean(r.masker.mask(text), maxName))
}

// clean takes control characters out of text, which could command a terminal, and bounds its length.
func clean(text string, limit int) string {
	text = strings.Map(func(c rune) rune {
		switch {
		case c == '\n':
			return c
		case c == '\t' || c == utf8.RuneError:
			return ' '
		case unicode.IsControl(c) || unicode.Is(unicode.Cf, c):
			return -1
		}
		return c
	}, text)
	if len(text) > limit {
		text = cut(text, limit-len("…")) + "…"
	}
	return text
}

// cut returns the first bytes of text, without part of a character.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}

// oneLine makes one line of several.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// ring keeps the last elements.
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
