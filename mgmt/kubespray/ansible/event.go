package ansible

import "fmt"

// EventKind is the kind of an Event.
type EventKind string

// The kinds of events. For a task with a loop there is one event per host, for all items together.
const (
	PlayStarted EventKind = "play"
	TaskStarted EventKind = "task"        // also for handlers
	HostOK      EventKind = "ok"          // the task succeeded and changed nothing on the host
	HostChanged EventKind = "changed"     // the task succeeded and changed the host
	HostSkipped EventKind = "skipped"     // a condition of the task is false for the host
	HostFailed  EventKind = "failed"      // the task failed on the host
	Unreachable EventKind = "unreachable" // Ansible cannot log in to the host
)

// Event is one event of a run. Its texts come from playbooks and machines. They are masked, bounded and without control
// characters, but a machine may have forged them.
type Event struct {
	Kind    EventKind
	Play    string
	Task    string
	Host    string // empty for PlayStarted and TaskStarted
	Message string // reason of HostFailed and Unreachable
	// Ignored is true if the playbook ignored or rescued the failure, so that the host continued. If the host ran only an
	// always section after the failure, the event is first reported with Ignored, and at the end of the run again without
	// Ignored.
	Ignored bool
}

// String formats the event as a line to be read by people.
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

// failure reports whether the event is a failed task or an unreachable host.
func (e Event) failure() bool { return e.Kind == HostFailed || e.Kind == Unreachable }

// HostRecap counts the results of tasks on a host, as in Ansible's PLAY RECAP.
type HostRecap struct {
	OK, Changed, Unreachable, Failed, Skipped, Rescued, Ignored int
}
