package heat

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stackresources"
	"github.com/gophercloud/gophercloud/v2/openstack/orchestration/v1/stacks"
)

// Client speaks to Heat for one project. It is safe for concurrent use.
type Client struct {
	api  *gophercloud.ServiceClient
	poll time.Duration
}

// New returns a client. poll is the time between the first looks at a stack that is waited for; it grows to
// tenfold.
func New(api *gophercloud.ServiceClient, poll time.Duration) *Client {
	return &Client{api: api, poll: poll}
}

// Stack is a stack as Heat shows it.
type Stack struct {
	Name, ID   string
	Status     Status
	Reason     string
	Tags       []string
	Parameters map[string]string // values of the json type are JSON
	updated    string            // changes when an update begins
}

// stackBody is the part of Heat's answer that is read.
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

// Definition is what a stack is made from.
type Definition struct {
	Template   string
	Files      map[string]string // by the text that templates refer to them with
	Parameters map[string]any
}

func (d Definition) body() map[string]any {
	return map[string]any{"template": d.Template, "files": d.Files, "parameters": d.Parameters}
}

// request is a ready body in the place of gophercloud's options, which would expand templates.
type request map[string]any

func (r request) ToStackCreateMap() (map[string]any, error)      { return r, nil }
func (r request) ToStackUpdatePatchMap() (map[string]any, error) { return r, nil }

// Create begins to make a stack. Heat itself gives up after timeout (whole minutes). What failed is left as it
// is, to be looked at.
func (c *Client) Create(ctx context.Context, name string, tags []string, d Definition, timeout time.Duration) (*Stack, error) {
	body := d.body()
	body["stack_name"], body["tags"] = name, joined(tags)
	body["timeout_mins"], body["disable_rollback"] = minutes(timeout), true
	made, err := stacks.Create(ctx, c.api, request(body)).Extract()
	if err != nil {
		return nil, explained("create stack "+name, err)
	}
	return &Stack{Name: name, ID: made.ID, Status: createInProgress}, nil
}

// Update begins to change a stack into d. Parameters that d does not name stay.
func (c *Client) Update(ctx context.Context, s *Stack, d Definition, timeout time.Duration) error {
	body := d.body()
	body["tags"] = joined(s.Tags) // those of an update replace the former ones
	body["timeout_mins"], body["disable_rollback"] = minutes(timeout), true
	err := stacks.UpdatePatch(ctx, c.api, s.Name, s.ID, request(body)).ExtractErr()
	return explained("update stack "+s.Name, err)
}

// Delete begins to delete a stack; that there is none is no error.
func (c *Client) Delete(ctx context.Context, s *Stack) error {
	err := stacks.Delete(ctx, c.api, s.Name, s.ID).ExtractErr()
	if gone(err) {
		return nil
	}
	return explained("delete stack "+s.Name, err)
}

// Stop asks Heat to leave off what it does with a stack: what is made stays as it is then.
func (c *Client) Stop(ctx context.Context, s *Stack) error {
	_, err := c.api.Post(ctx, c.api.ServiceURL("stacks", s.Name, s.ID, "actions"), //nolint:bodyclose // gophercloud closes it
		map[string]any{"cancel_without_rollback": nil}, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK, http.StatusAccepted, http.StatusNoContent}})
	return explained("stop stack "+s.Name, err)
}

// Find returns the stack of that name, nil when there is none.
func (c *Client) Find(ctx context.Context, name string) (*Stack, error) {
	return c.get(ctx, "stacks", name)
}

// Get returns the stack as it is now, nil when it has been deleted.
func (c *Client) Get(ctx context.Context, s *Stack) (*Stack, error) {
	return c.get(ctx, "stacks", s.Name, s.ID)
}

func (c *Client) get(ctx context.Context, path ...string) (*Stack, error) {
	var body stackBody
	_, err := c.api.Get(ctx, c.api.ServiceURL(path...)+"?resolve_outputs=False", &body, nil) //nolint:bodyclose // gophercloud closes it
	if gone(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explained("look at stack "+path[1], err)
	}
	s := body.Stack
	if s.Status == deleteComplete { // Heat shows deleted stacks to whoever knows their id
		return nil, nil
	}
	return &Stack{Name: s.Name, ID: s.ID, Status: s.Status, Reason: s.Reason, Tags: s.Tags,
		Parameters: s.Parameters, updated: s.UpdatedTime}, nil
}

// Validate has Heat check a definition; it makes nothing.
func (c *Client) Validate(ctx context.Context, d Definition) error {
	_, err := c.api.Post(ctx, c.api.ServiceURL("validate"), //nolint:bodyclose // gophercloud closes it
		d.body(), nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
	return explained("validate the template", err)
}

// Mark sets or takes away the mark on a resource that the next update replaces it, or that its group removes
// it first.
func (c *Client) Mark(ctx context.Context, r Resource, unhealthy bool, reason string) error {
	err := stackresources.MarkUnhealthy(ctx, c.api, r.StackName, r.StackID, r.Name,
		stackresources.MarkUnhealthyOpts{MarkUnhealthy: unhealthy, ResourceStatusReason: reason}).ExtractErr()
	return explained(fmt.Sprintf("mark resource %s of stack %s", r.Name, r.StackName), err)
}

// gone reports whether what was asked for does not exist (any more).
func gone(err error) bool {
	return gophercloud.ResponseCodeIs(err, http.StatusNotFound)
}

// Busy reports whether Heat refused because it is at work on the stack, or on one of that name.
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

var errNoBegin = errors.New("Heat took the request and never began with it")
