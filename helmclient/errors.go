package helmclient

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Error is a class of error, found with errors.Is.
type Error string

func (e Error) Error() string { return "helm: " + string(e) }

// The classes of errors. The comment says whether the same call may succeed later.
const (
	ErrNotFound Error = "there is no such release"        // no
	ErrExists   Error = "there is a release of that name" // no
	// ErrBusy: yes, when the other operation has ended. If the client of that operation has died, its record stays
	// unfinished: set Stale in the request.
	ErrBusy Error = "another operation works on the release"
	// ErrStale: yes. The other operation is older than the request's Stale, but it could not be marked as failed; the
	// error says why.
	ErrStale Error = "an operation on the release was never finished"
	// ErrNotReady: yes, if the objects have only been slow. A *NotReadyError names them with the reasons.
	ErrNotReady     Error = "not all objects have become ready"
	ErrInvalidChart Error = "the chart cannot be used"                          // no
	ErrInvalid      Error = "the request is not valid"                          // no
	ErrUnreachable  Error = "the cluster, repository or host cannot be reached" // yes
	ErrDenied       Error = "the credentials are refused"                       // no
	// ErrRefused: yes, when the webhook, policy, quota or namespace that refused an object accepts it.
	ErrRefused Error = "the cluster refuses an object"
)

// StaleError reports an unfinished operation of another client. With Busy it matches ErrBusy, otherwise ErrStale.
type StaleError struct {
	Release Name
	State   State
	Since   time.Time
	Busy    bool // not old enough to count as dead
}

func (e *StaleError) Error() string {
	return fmt.Sprintf("helm: release %s is %s since %s: that operation has not finished", e.Release, e.State, e.Since.UTC().Format(time.RFC3339))
}

// Is makes the error an ErrBusy or an ErrStale.
func (e *StaleError) Is(target error) bool {
	return target == ErrStale && !e.Busy || target == ErrBusy && e.Busy
}

// NotReadyError is an ErrNotReady with the objects that are not ready, and why.
type NotReadyError struct {
	Release Name
	After   time.Duration
	Objects []Object
	Failed  bool // the objects report that they will not become ready
}

func (e *NotReadyError) Error() string {
	var list []string
	for _, o := range e.Objects {
		list = append(list, o.String())
	}
	verb := "not ready"
	if e.Failed {
		verb = "failed"
	}
	return fmt.Sprintf("helm: release %s: %s after %v: %s", e.Release, verb, e.After.Round(time.Second), strings.Join(list, "; "))
}

// Is makes it an ErrNotReady.
func (e *NotReadyError) Is(target error) bool { return target == ErrNotReady }

// String returns one line with kind, name and the reason why the object is not ready.
func (o Object) String() string {
	text := o.Kind + " " + o.Name
	for _, part := range slices.Concat([]string{o.Reason}, o.Pods, o.Events, o.Logs) {
		if part != "" {
			text += ", " + part
		}
	}
	return text
}
