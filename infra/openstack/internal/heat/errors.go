package heat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/answerlimit"
)

// StackError is what Heat could not do with a stack.
type StackError struct {
	Stack, ID string
	Action    string // CREATE, UPDATE, DELETE
	Status    Status // of the stack; empty when it is gone
	Reason    string // Heat's, about the stack
	// Resource is the first resource that failed, nil when Heat names none.
	Resource *ResourceFailure
}

// ResourceFailure is why a resource failed, in Heat's words.
type ResourceFailure struct {
	Name       string // of the resource in its template
	Stack      string // the stack, perhaps a nested one, that it is in
	PhysicalID string
	Reason     string
}

func (e *StackError) Error() string {
	text := fmt.Sprintf("%s of stack %s failed", e.Action, e.Stack)
	if e.Status != "" {
		text += fmt.Sprintf(" (%s)", e.Status)
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

// failure finds the reason of a failure among the events, which hold it even after a rollback or a deletion
// has removed the resource.
func (w *wait) failure(now *Stack) error {
	out := &StackError{Stack: now.Name, ID: now.ID, Action: w.course.action, Status: now.Status, Reason: answerlimit.Shorten(now.Reason)}
	failedIn := map[string]bool{} // ids of stacks in which something failed
	for _, e := range w.events {
		if e.failed() && !e.ofStack() {
			_, id := stackOf(e.stackURL())
			failedIn[id] = true
		}
	}
	for _, e := range w.events {
		// A resource that is a stack fails because of what is in it.
		if e.failed() && !e.ofStack() && !failedIn[e.PhysicalID] {
			out.Resource = &ResourceFailure{Name: e.Resource, Stack: e.stack(), PhysicalID: e.PhysicalID, Reason: answerlimit.Shorten(e.Reason)}
			break
		}
	}
	return out
}

// failed passes over the marks that are set on healthy resources to have them replaced.
func (e Event) failed() bool { return e.Status.Failed() && e.Status.Action() != "CHECK" }

// APIError is a request that an OpenStack service refused, with the reason that it gave.
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

// explained names what was being done and takes the reason out of the body of the answer.
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

// reason reads Heat's error document; other bodies can be anything and are not shown.
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

// Passing reports whether an error can go away by itself: no answer, an overloaded or a restarting service.
func Passing(err error) bool {
	var answer gophercloud.ErrUnexpectedResponseCode
	if errors.As(err, &answer) {
		return answer.Actual >= 500 || answer.Actual == http.StatusTooManyRequests
	}
	// A token that has expired while Keystone was away.
	if again := (*gophercloud.ErrUnableToReauthenticate)(nil); errors.As(err, &again) {
		return Passing(again.ErrReauth)
	}
	var network *url.Error
	return errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF)
}
