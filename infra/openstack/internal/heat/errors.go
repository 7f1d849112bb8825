package heat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

// StackError reports that an action of Heat on a stack failed.
type StackError struct {
	Stack, ID string
	Action    string // CREATE, UPDATE, DELETE
	Status    Status // status of the stack; empty if the stack was deleted
	Reason    string // Heat's reason for the status of the stack
	// Resource is the first resource that failed, nil if Heat names none.
	Resource *ResourceFailure
	// Overdue says that Heat failed the action when its timeout had passed since the wait for it began. The error then matches
	// ErrOverdue. The reasons need not show it. A process that continues the wait of another does not know: Overdue is false.
	Overdue bool
}

// Is makes an error that is Overdue match ErrOverdue.
func (e *StackError) Is(target error) bool { return e.Overdue && target == ErrOverdue }

// ResourceFailure names a resource that failed, with Heat's reason.
type ResourceFailure struct {
	Name       string // of the resource in its template
	Stack      string // name of the stack, perhaps a nested one, that contains the resource
	PhysicalID string
	Reason     string
}

func (e *StackError) Error() string {
	text := fmt.Sprintf("%s of stack %s failed", e.Action, e.Stack)
	if e.Status != "" {
		text += fmt.Sprintf(" (%s)", e.Status)
	}
	if e.Overdue {
		text += ", " + ErrOverdue.Error()
	}
	if r := e.Resource; r != nil {
		text += ": resource " + r.Name
		if r.Stack != e.Stack {
			text += " of " + r.Stack
		}
		return text + ": " + r.Reason
	}
	return text + ": " + e.Reason
}

// failure returns a StackError with the first failed resource. It searches the events: they name the resource even if a
// rollback or a deletion has removed it.
func (w *wait) failure(now *Stack) error {
	out := &StackError{Stack: now.Name, ID: now.ID, Action: w.course.action, Status: now.Status, Reason: answerlimit.Shorten(now.Reason),
		Overdue: time.Since(w.began) >= w.client.timeout}
	failedIn := map[string]bool{} // ids of stacks with a failed resource
	for _, e := range w.events {
		if e.failed() && !e.ofStack() {
			_, id := stackOf(e.stackURL())
			failedIn[id] = true
		}
	}
	for _, e := range w.events {
		// A resource that is a nested stack fails because a resource in that stack has failed: skip it.
		if e.failed() && !e.ofStack() && !failedIn[e.PhysicalID] {
			out.Resource = &ResourceFailure{Name: e.Resource, Stack: e.stack(), PhysicalID: e.PhysicalID, Reason: answerlimit.Shorten(e.Reason)}
			break
		}
	}
	return out
}

// failed reports whether the event is a failure. A CHECK that failed is not one: Client.Mark causes it on purpose.
func (e Event) failed() bool { return e.Status.Failed() && e.Status.Action() != "CHECK" }

// APIError reports that an OpenStack service refused a request, with the reason of the service.
type APIError struct {
	Doing  string
	Code   int
	Reason string
	err    error
}

func (e *APIError) Error() string {
	return fmt.Sprintf("%s: HTTP %d: %s", e.Doing, e.Code, e.Reason)
}

func (e *APIError) Unwrap() error { return e.err }

// explained adds the purpose of the request to an error, and the reason from the body of the answer.
func explained(doing string, err error) error {
	if err == nil {
		return nil
	}
	var answer gophercloud.ErrUnexpectedResponseCode
	if !errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return &APIError{Doing: doing, Code: answer.Actual, Reason: reason(answer), err: err}
}

// reason reads the reason from Heat's error document. If the body is another document, it returns the text of the status.
func reason(answer gophercloud.ErrUnexpectedResponseCode) string {
	var body struct {
		Explanation string `json:"explanation"`
		Error       struct {
			Message string `json:"message"`
		} `json:"error"`
	}
	if json.Unmarshal(answer.Body, &body) == nil {
		if body.Error.Message != "" {
			return answerlimit.Shorten(body.Error.Message)
		}
		if body.Explanation != "" {
			return answerlimit.Shorten(body.Explanation)
		}
	}
	return http.StatusText(answer.Actual)
}

// Passing reports whether an error is temporary: no answer, or a service that is overloaded or restarts.
func Passing(err error) bool {
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		return answer.Actual >= 500 || answer.Actual == http.StatusTooManyRequests
	}
	// The token has expired while Keystone could not be reached.
	if again := (*gophercloud.ErrUnableToReauthenticate)(nil); errors.As(err, &again) {
		return Passing(again.ErrReauth)
	}
	var network *url.Error
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}
