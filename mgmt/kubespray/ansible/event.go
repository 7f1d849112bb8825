package ansible

import "fmt"

// EventKind says what an Event tells.
type EventKind string

// The kinds. Of a task with a loop there is one event per host, for all of its items.
const (
	PlayStarted EventKind = "play"
	TaskStarted EventKind = "task" // handlers, too
	HostOK      EventKind = "ok"
	HostChanged EventKind = "changed"
	HostSkipped EventKind = "skipped"
	HostFailed  EventKind = "failed"
	Unreachable EventKind = "unreachable"
)

// Event is one thing that happened in a run. Its texts come from playbooks and machines: they are masked, bounded and
// without control characters, and otherwise to be trusted as little as these.
type Event struct {
	Kind    EventKind
	Play    string
	Task    string
	Host    string // empty for PlayStarted and TaskStarted
	Message string // why, of HostFailed and Unreachable
	// Ignored is a failure that the playbook lets pass: it ignores or rescues it, and the host goes on. A failure that
	// only the always section of its block comes after looks the same until the run ends: then it is told of again,
	// without Ignored.
	Ignored bool
}

// String is the event as a line for people.
func (e Event) String() string {
	switch e.Kind {
	case PlayStarted:
		return fmt.Sprintf("PLAY [%s]", e.Play)
	case TaskStarted:
		return fmt.Sprintf("TASK [%s]", e.Task)
	case HostFailed, Unreachable:
		ignored := ""
		if e.Ignored {
			ignored = " (ignored)"
		}
		return fmt.Sprintf("%s: [%s]%s: %s", e.Kind, e.Host, ignored, e.Message)
	default:
		return fmt.Sprintf("%s: [%s]", e.Kind, e.Host)
	}
}

// failure reports whether the event tells that something went wrong on a host.
func (e Event) failure() bool { return e.Kind == HostFailed || e.Kind == Unreachable }

// HostRecap counts what became of the tasks on a host (PLAY RECAP).
type HostRecap struct {
	OK, Changed, Unreachable, Failed, Skipped, Rescued, Ignored int
}
