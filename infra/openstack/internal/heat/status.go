package heat

import "strings"

// Status is an action and how far it is, such as UPDATE_IN_PROGRESS.
type Status string

const (
	createInProgress Status = "CREATE_IN_PROGRESS"
	deleteComplete   Status = "DELETE_COMPLETE"
)

// Action is what is, or was last, done to a stack: CREATE, UPDATE, DELETE, ROLLBACK, CHECK and others.
func (s Status) Action() string {
	action, _, _ := strings.Cut(string(s), "_")
	return action
}

// InProgress reports whether Heat is at work.
func (s Status) InProgress() bool { return strings.HasSuffix(string(s), "_IN_PROGRESS") }

// Complete reports whether the last action succeeded.
func (s Status) Complete() bool { return strings.HasSuffix(string(s), "_COMPLETE") }

// Failed reports whether the last action failed, or the stack was rolled back, which follows a failure.
func (s Status) Failed() bool {
	return strings.HasSuffix(string(s), "_FAILED") || s.Action() == "ROLLBACK"
}

// course is what an action of a stack passes through.
type course struct {
	action string
	// through are the states that may show meanwhile, good those of success. Any other is a failure.
	through, good []Status
}

// ROLLBACK_IN_PROGRESS is waited through: only then is the stack at rest. It shows when an operator has turned
// rollback on for the stack; this package never does.
var (
	creating = course{"CREATE", []Status{createInProgress, "ROLLBACK_IN_PROGRESS"}, []Status{"CREATE_COMPLETE"}}
	updating = course{"UPDATE", []Status{"UPDATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"}, []Status{"UPDATE_COMPLETE"}}
	deleting = course{"DELETE", []Status{"DELETE_IN_PROGRESS"}, nil}
	// resting waits for whatever is going on to end, well or badly: something else may be at work.
	resting = course{action: "earlier work"}
)
