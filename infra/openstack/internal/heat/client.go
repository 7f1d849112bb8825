package heat

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Client sends requests to Heat for one project. It is safe for concurrent use.
type Client struct {
	api     *gophercloud.ServiceClient
	poll    time.Duration
	timeout time.Duration
}

// New returns a client. poll is the time between the first two requests for the state of a stack; it grows up to tenfold.
// timeout is the time that Heat gets for one action on a stack. The client waits a little longer.
func New(api *gophercloud.ServiceClient, poll, timeout time.Duration) *Client {
	return &Client{api: api, poll: poll, timeout: timeout}
}

// Stack is a stack as Heat shows it.
type Stack struct {
	Name, ID   string
	Status     Status
	Reason     string
	Tags       []string
	Parameters map[string]string // values of parameters with the type json are JSON
	updated    string            // time of the last update; Heat changes it when an update begins
}

// stackBody holds the used fields of Heat's answer.
type stackBody struct {
	Stack struct {
		Name        string            `json:"stack_name"`
		ID          string            `json:"id"`
		Status      Status            `json:"stack_status"`
		Reason      string            `json:"stack_status_reason"`
		Tags        []string          `json:"tags"`
		Parameters  map[string]string `json:"parameters"`
		UpdatedTime string            `json:"updated_time"`
	} `json:"stack"`
}

// Definition is the template, the files and the parameters of a stack.
type Definition struct {
	Template   string
	Files      map[string]string // by the text with which templates refer to the file
	Parameters map[string]any
}

func (d Definition) body() map[string]any {
	return map[string]any{"template": d.Template, "files": d.Files, "parameters": d.Parameters}
}

// call sends one request. doing names the purpose of the request in errors.
func (c *Client) call(ctx context.Context, doing, method, url string, body, into any) error {
	_, err := c.api.Request(ctx, method, url, &gophercloud.RequestOpts{JSONBody: body, JSONResponse: into, //nolint:bodyclose // gophercloud closes it
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}})
	return explained(doing, err)
}

// Create asks Heat to create a stack and does not wait. Heat leaves a failed stack in place, for inspection.
func (c *Client) Create(ctx context.Context, name string, tags []string, d Definition) (*Stack, error) {
	body := d.body()
	body["stack_name"], body["tags"] = name, joined(tags)
	body["timeout_mins"], body["disable_rollback"] = minutes(c.timeout), true
	var made stackBody
	if err := c.call(ctx, "create stack "+name, http.MethodPost, c.api.ServiceURL("stacks"), body, &made); err != nil {
		return nil, err
	}
	return &Stack{Name: name, ID: made.Stack.ID, Status: createInProgress}, nil
}

// Definition returns the template (as JSON) and the files with which a stack was last created or updated. It does not
// return parameters.
func (c *Client) Definition(ctx context.Context, s *Stack) (Definition, error) {
	var template json.RawMessage
	var files map[string]string
	err := c.call(ctx, "read the template of stack "+s.Name, http.MethodGet, c.api.ServiceURL("stacks", s.Name, s.ID, "template"), nil, &template)
	if err == nil {
		err = c.call(ctx, "read the files of stack "+s.Name, http.MethodGet, c.api.ServiceURL("stacks", s.Name, s.ID, "files"), nil, &files)
	}
	return Definition{Template: string(template), Files: files}, err
}

// Update asks Heat to change a stack into d and does not wait. Parameters that d does not name keep their values.
func (c *Client) Update(ctx context.Context, s *Stack, d Definition) error {
	body := d.body()
	if len(s.Tags) > 0 { // nested stacks have none
		body["tags"] = joined(s.Tags) // the tags of an update replace the former tags
	}
	body["timeout_mins"], body["disable_rollback"] = minutes(c.timeout), true
	return c.call(ctx, "update stack "+s.Name, http.MethodPatch, c.api.ServiceURL("stacks", s.Name, s.ID), body, nil)
}

// Delete asks Heat to delete a stack and does not wait. A missing stack is no error.
func (c *Client) Delete(ctx context.Context, s *Stack) error {
	err := c.call(ctx, "delete stack "+s.Name, http.MethodDelete, c.api.ServiceURL("stacks", s.Name, s.ID), nil, nil)
	if gone(err) {
		return nil
	}
	return err
}

// Stop asks Heat to end the current action on a stack. Resources keep the state that they have then.
func (c *Client) Stop(ctx context.Context, s *Stack) error {
	return c.call(ctx, "stop stack "+s.Name, http.MethodPost, c.api.ServiceURL("stacks", s.Name, s.ID, "actions"),
		map[string]any{"cancel_without_rollback": nil}, nil)
}

// Find returns the stack with the name or id, or nil if it does not exist.
func (c *Client) Find(ctx context.Context, name string) (*Stack, error) {
	return c.get(ctx, "stacks", name)
}

// Get returns the current state of a stack, or nil if the stack was deleted.
func (c *Client) Get(ctx context.Context, s *Stack) (*Stack, error) {
	return c.get(ctx, "stacks", s.Name, s.ID)
}

func (c *Client) get(ctx context.Context, path ...string) (*Stack, error) {
	var body stackBody
	err := c.call(ctx, "look at stack "+path[1], http.MethodGet, c.api.ServiceURL(path...)+"?resolve_outputs=False", nil, &body)
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := body.Stack
	if s.Status == deleteComplete { // Heat shows a deleted stack in requests with its id
		return nil, nil
	}
	return &Stack{Name: s.Name, ID: s.ID, Status: s.Status, Reason: s.Reason, Tags: s.Tags,
		Parameters: s.Parameters, updated: s.UpdatedTime}, nil
}

// Mark marks a resource as unhealthy: the next update replaces the resource, or its group removes it before others.
func (c *Client) Mark(ctx context.Context, r Resource, reason string) error {
	body := map[string]any{"mark_unhealthy": true, "resource_status_reason": reason}
	return c.call(ctx, fmt.Sprintf("mark resource %s of stack %s", r.Name, r.StackName), http.MethodPatch,
		c.api.ServiceURL("stacks", r.StackName, r.StackID, "resources", r.Name), body, nil)
}

// Attribute returns an attribute of a resource of a stack as JSON.
func (c *Client) Attribute(ctx context.Context, s *Stack, resource, attribute string) (json.RawMessage, error) {
	var body struct {
		Resource struct {
			Attributes map[string]json.RawMessage `json:"attributes"`
		} `json:"resource"`
	}
	err := c.call(ctx, fmt.Sprintf("look at resource %s of stack %s", resource, s.Name), http.MethodGet,
		c.api.ServiceURL("stacks", s.Name, s.ID, "resources", resource), nil, &body)
	value, there := body.Resource.Attributes[attribute]
	if err == nil && !there {
		err = fmt.Errorf("resource %s of stack %s has no attribute %s", resource, s.Name, attribute)
	}
	return value, err
}

// gone reports whether the answer was 404: the stack or resource does not exist (any more).
func gone(err error) bool {
	return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
}

// Busy reports whether Heat refused a request because it is changing the stack, or because a stack with the name exists.
func Busy(err error) bool {
	return gophercloud.ResponseCodeIs(err, http.StatusConflict)
}

func joined(tags []string) string {
	out := ""
	for i, t := range slices.Compact(slices.Sorted(slices.Values(tags))) {
		if i > 0 {
			out += ","
		}
		out += t
	}
	return out
}

// minutes rounds up: Heat counts whole minutes.
func minutes(d time.Duration) int {
	return int((d + time.Minute - 1) / time.Minute)
}

const neverBegan = "Heat took the request and never began with it"
