package heat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// script simulates a Heat that answers each request for a stack with the next of its states, and then always with the last.
type script struct {
	mu     sync.Mutex
	states []string // status, or "404", "503", "cut"
	looks  int
	events []event
	asked  []string // requests other than those for the state of the stack
	later  []event  // events that are added at the third request for the stack
}

type event struct{ id, resource, stack, stackID, physical, status, reason string }

const stackURL = "http://heat/v1/p/stacks/"

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case strings.HasSuffix(path, "/events"):
		s.serveEvents(w, r)
	case r.Method == http.MethodGet:
		s.serveStack(w)
	default:
		s.asked = append(s.asked, r.Method+" "+path)
		w.WriteHeader(http.StatusAccepted)
		_, _ = fmt.Fprint(w, `{"stack": {"id": "1"}}`)
	}
}

func (s *script) serveStack(w http.ResponseWriter) {
	state := s.states[min(s.looks, len(s.states)-1)]
	if s.looks++; s.looks == 3 {
		s.events = append(s.events, s.later...)
	}
	switch state {
	case "404", "503", "400":
		code := map[string]int{"404": 404, "503": 503, "400": 400}[state]
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"error": {"message": "because %s"}}`, state)
	case "cut":
		panic(http.ErrAbortHandler)
	default:
		status, updated, _ := strings.Cut(state, "@")
		_ = json.NewEncoder(w).Encode(map[string]any{"stack": map[string]any{"stack_name": "s", "id": "1", "stack_status": status,
			"stack_status_reason": "reason of " + status, "updated_time": updated}})
	}
}

// serveEvents returns events in descending order unless the request asks for another order, as Heat does.
func (s *script) serveEvents(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var list []map[string]any
	past := q.Get("marker") == ""
	for _, e := range s.events {
		if past {
			list = append(list, map[string]any{"id": e.id, "resource_name": e.resource, "resource_status": e.status,
				"resource_status_reason": e.reason, "physical_resource_id": e.physical,
				"links": []any{map[string]any{"rel": "stack", "href": stackURL + e.stack + "/" + e.stackID}}})
		}
		past = past || e.id == q.Get("marker")
	}
	if q.Get("sort_dir") != "asc" {
		for i, j := 0, len(list)-1; i < j; i, j = i+1, j-1 {
			list[i], list[j] = list[j], list[i]
		}
	}
	if q.Get("limit") == "1" && len(list) > 1 {
		list = list[:1]
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"events": list})
}

func (s *script) client(t *testing.T) *heat.Client { return s.clientWithin(t, time.Minute) }

func (s *script) clientWithin(t *testing.T, timeout time.Duration) *heat.Client {
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	provider := &gophercloud.ProviderClient{HTTPClient: http.Client{Transport: transport}}
	return heat.New(&gophercloud.ServiceClient{ProviderClient: provider, Endpoint: server.URL + "/"}, time.Millisecond, timeout)
}

var (
	stack   = &heat.Stack{Name: "s", ID: "1"}
	failing = []event{
		{"1", "s", "s", "1", "1", "CREATE_IN_PROGRESS", ""},
		{"2", "group", "s", "1", "2", "CREATE_IN_PROGRESS", ""},
		{"3", "server", "s-group-m", "3", "srv", "CREATE_FAILED", "No valid host was found"},
		{"4", "m", "s-group", "2", "3", "CREATE_FAILED", "resources.server: No valid host"},
		{"5", "group", "s", "1", "2", "CREATE_FAILED", "resources.m.resources.server: No valid host"},
		{"6", "other", "s", "1", "", "CREATE_FAILED", "CREATE aborted"},
	}
)

func TestCourses(t *testing.T) {
	t.Parallel()
	create := func(ctx context.Context, c *heat.Client) error { _, err := c.Created(ctx, stack, nil); return err }
	update := func(ctx context.Context, c *heat.Client) error {
		before, err := c.Get(ctx, stack)
		if err == nil {
			_, err = c.Apply(ctx, before, heat.Definition{}, nil)
		}
		return err
	}
	remove := func(ctx context.Context, c *heat.Client) error { return c.Deleted(ctx, stack, nil) }
	first := &heat.ResourceFailure{Name: "server", Stack: "s-group-m", PhysicalID: "srv", Reason: "No valid host was found"}
	for name, c := range map[string]struct {
		do     func(context.Context, *heat.Client) error
		states []string
		events []event
		want   *heat.StackError
	}{
		"created":                {do: create, states: []string{"CREATE_IN_PROGRESS", "CREATE_COMPLETE"}},
		"create fails":           {do: create, states: []string{"CREATE_IN_PROGRESS", "CREATE_FAILED"}, events: failing, want: &heat.StackError{Stack: "s", ID: "1", Action: "CREATE", Status: "CREATE_FAILED", Reason: "reason of CREATE_FAILED", Resource: first}},
		"create is rolled back":  {do: create, states: []string{"CREATE_IN_PROGRESS", "ROLLBACK_IN_PROGRESS", "ROLLBACK_COMPLETE"}, events: failing, want: &heat.StackError{Stack: "s", ID: "1", Action: "CREATE", Status: "ROLLBACK_COMPLETE", Reason: "reason of ROLLBACK_COMPLETE", Resource: first}},
		"rollback fails":         {do: create, states: []string{"ROLLBACK_IN_PROGRESS", "ROLLBACK_FAILED"}, want: &heat.StackError{Stack: "s", ID: "1", Action: "CREATE", Status: "ROLLBACK_FAILED", Reason: "reason of ROLLBACK_FAILED"}},
		"deleted while creating": {do: create, states: []string{"CREATE_IN_PROGRESS", "DELETE_IN_PROGRESS"}, want: &heat.StackError{Stack: "s", ID: "1", Action: "CREATE", Status: "DELETE_IN_PROGRESS", Reason: "reason of DELETE_IN_PROGRESS"}},
		"gone while creating":    {do: create, states: []string{"CREATE_IN_PROGRESS", "404"}, want: &heat.StackError{Stack: "s", ID: "1", Action: "CREATE", Reason: "the stack was deleted meanwhile"}},
		"Heat is away":           {do: create, states: []string{"CREATE_IN_PROGRESS", "503", "cut", "CREATE_COMPLETE"}},
		"updated":                {do: update, states: []string{"CREATE_COMPLETE@", "CREATE_COMPLETE@", "UPDATE_IN_PROGRESS@2", "UPDATE_COMPLETE@2"}},
		"updated at once":        {do: update, states: []string{"UPDATE_COMPLETE@1", "UPDATE_COMPLETE@2"}},
		"update fails again":     {do: update, states: []string{"UPDATE_FAILED@1", "UPDATE_FAILED@1", "UPDATE_FAILED@2"}, want: &heat.StackError{Stack: "s", ID: "1", Action: "UPDATE", Status: "UPDATE_FAILED", Reason: "reason of UPDATE_FAILED"}},
		"update never begins":    {do: update, states: []string{"UPDATE_COMPLETE@1"}, want: &heat.StackError{Stack: "s", ID: "1", Action: "UPDATE", Status: "UPDATE_COMPLETE", Reason: "Heat took the request and never began with it"}},
		"deleted":                {do: remove, states: []string{"UPDATE_COMPLETE@1", "DELETE_IN_PROGRESS", "DELETE_COMPLETE", "DELETE_COMPLETE", "404"}},
		"deleted and forgotten":  {do: remove, states: []string{"DELETE_IN_PROGRESS", "404"}},
		"delete fails":           {do: remove, states: []string{"DELETE_IN_PROGRESS", "DELETE_FAILED"}, want: &heat.StackError{Stack: "s", ID: "1", Action: "DELETE", Status: "DELETE_FAILED", Reason: "reason of DELETE_FAILED"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{states: c.states, events: c.events}
			err := c.do(t.Context(), s.client(t))
			var failed *heat.StackError
			if errors.As(err, &failed); (err != nil && failed == nil) || cmp.Diff(c.want, failed) != "" {
				t.Errorf("error %v:\n%s", err, cmp.Diff(c.want, failed))
			}
		})
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := &script{states: []string{"CREATE_IN_PROGRESS"}, events: failing[:1], later: failing[1:2]}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := s.client(t).Created(ctx, stack, func(e heat.Event) {
		if e.Resource == "group" {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || !strings.Contains(fmt.Sprint(err), "CREATE_IN_PROGRESS, unfinished resources: group") {
		t.Errorf("error %v", err)
	}
}

// TestHeatEndsAnOverdueAction has a Heat that fails an action at its timeout, for the reason that Heat gives: of a resource whose
// stack it has cancelled.
func TestHeatEndsAnOverdueAction(t *testing.T) {
	t.Parallel()
	const timeout = 5 * time.Millisecond
	s := &script{states: append(slices.Repeat([]string{"CREATE_IN_PROGRESS"}, 20), "CREATE_FAILED"),
		events: []event{{"1", "group", "s", "1", "2", "CREATE_FAILED", "resources.m: Stack CREATE cancelled"}}}
	_, err := s.clientWithin(t, timeout).Created(t.Context(), stack, nil)
	var failed *heat.StackError
	if !errors.As(err, &failed) || !errors.Is(err, heat.ErrOverdue) || !failed.Overdue {
		t.Fatalf("error %v", err)
	}
	if want := "CREATE of stack s failed (CREATE_FAILED), Heat did not come to an end in time: resource group: resources.m: Stack CREATE cancelled"; err.Error() != want {
		t.Errorf("error %q, not %q", err, want)
	}
	if err := new(heat.StackError); errors.Is(err, heat.ErrOverdue) {
		t.Errorf("%v is overdue", err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := &script{states: []string{"400"}}
	_, err := s.client(t).Get(t.Context(), stack)
	var refused *heat.APIError
	if !errors.As(err, &refused) || err.Error() != "look at stack s: HTTP 400: because 400" || heat.Passing(err) {
		t.Errorf("error %v", err)
	}
}

// TestEventsComeOnce: the observer gets each new event once, and no events from before the operation.
func TestEventsComeOnce(t *testing.T) {
	t.Parallel()
	s := &script{states: []string{"UPDATE_COMPLETE@1", "UPDATE_IN_PROGRESS@2", "UPDATE_IN_PROGRESS@2", "UPDATE_COMPLETE@2"},
		events: failing[:2:2], later: failing[2:4]}
	c := s.client(t)
	before, err := c.Get(t.Context(), stack)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	_, err = c.Apply(t.Context(), before, heat.Definition{}, func(e heat.Event) { got = append(got, e.ID) })
	if diff := cmp.Diff([]string{"3", "4"}, got); err != nil || diff != "" {
		t.Errorf("error %v\n%s", err, diff)
	}
	if diff := cmp.Diff([]string{"PATCH stacks/s/1"}, s.asked); diff != "" {
		t.Error(diff)
	}
}
