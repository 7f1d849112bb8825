package heat

import "strings"

// Status is an action of Heat and its state, for example UPDATE_IN_PROGRESS.
type Status string

const (
	createInProgress Status = "CREATE_IN_PROGRESS"
	deleteComplete   Status = "DELETE_COMPLETE"
)

// Action returns the current or last action on a stack: CREATE, UPDATE, DELETE, ROLLBACK, CHECK and others.
func (s Status) Action() string {
	action, _, _ := strings.Cut(string(s), "_")
	return action
}

// InProgress reports whether the action has not ended.
func (s Status) InProgress() bool { return strings.HasSuffix(string(s), "_IN_PROGRESS") }

// Complete reports whether the last action succeeded.
func (s Status) Complete() bool { return strings.HasSuffix(string(s), "_COMPLETE") }

// Failed reports whether the last action failed or Heat has rolled the stack back. Heat rolls back only after a failure.
func (s Status) Failed() bool {
	return strings.HasSuffix(string(s), "_FAILED") || s.Action() == "ROLLBACK"
}

// course lists the states that a stack shows during and after an action.
type course struct {
	action string
	// through holds the states during the action, good the states after success. Any other state is a failure.
	through, good []Status
}

// ROLLBACK_IN_PROGRESS is a state during the action, because Heat still changes the stack. Stacks show it only if an
// operator has enabled rollback; this package disables rollback.
var (
	creating = course{"CREATE", []Status{createInProgress, "ROLLBACK_IN_PROGRESS"}, []Status{"CREATE_COMPLETE"}}
	updating = course{"UPDATE", []Status{"UPDATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS"}, []Status{"UPDATE_COMPLETE"}}
	deleting = course{"DELETE", []Status{"DELETE_IN_PROGRESS"}, nil}
	// resting waits for the end of any action, with success or failure. Another program may have started the action.
	resting = course{action: "earlier work"}
)
