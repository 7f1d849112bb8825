package heat

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// Event says that a resource of a stack, or of a stack nested in it, has entered a state.
type Event struct {
	ID         string             `json:"id"`
	Time       string             `json:"event_time"` // RFC 3339 without fractions of a second
	Resource   string             `json:"resource_name"`
	Status     Status             `json:"resource_status"`
	Reason     string             `json:"resource_status_reason"`
	PhysicalID string             `json:"physical_resource_id"`
	Links      []gophercloud.Link `json:"links"`
}

// depth is how deep stacks may be nested. Heat's limit (max_nested_stack_depth) is 5 by default.
const depth = 5

// lastEvent returns the id of the newest event of a stack, or "".
func (c *Client) lastEvent(ctx context.Context, s *Stack) (string, error) {
	events, err := c.events(ctx, s, url.Values{"sort_dir": {"desc"}, "limit": {"1"}})
	if err != nil || len(events) == 0 {
		return "", err
	}
	return events[0].ID, nil
}

// pageSize is how many events one request asks for.
const pageSize = 200

// eventsAfter returns the events after the event marker, the oldest first.
func (c *Client) eventsAfter(ctx context.Context, s *Stack, marker string) ([]Event, error) {
	var out []Event
	for {
		// The default order is descending. With it, Heat returns the events before the marker.
		query := url.Values{"sort_dir": {"asc"}, "limit": {strconv.Itoa(pageSize)}}
		if marker != "" {
			query.Set("marker", marker)
		}
		page, err := c.events(ctx, s, query)
		out = append(out, page...)
		if err != nil || len(page) < pageSize {
			return out, err
		}
		marker = page[len(page)-1].ID
	}
}

func (c *Client) events(ctx context.Context, s *Stack, query url.Values) ([]Event, error) {
	query.Set("nested_depth", strconv.Itoa(depth))
	var body struct {
		Events []Event `json:"events"`
	}
	err := c.call(ctx, "read the events of stack "+s.Name, http.MethodGet,
		c.api.ServiceURL("stacks", s.Name, s.ID, "events")+"?"+query.Encode(), nil, &body)
	if gone(err) {
		return nil, nil
	}
	return body.Events, err
}

// stackURL returns the URL of the stack that contains the resource of the event.
func (e Event) stackURL() string {
	for _, link := range e.Links {
		if link.Rel == "stack" {
			return link.Href
		}
	}
	return ""
}

// stack returns the name of the stack that contains the resource of the event.
func (e Event) stack() string {
	name, _ := stackOf(e.stackURL())
	return name
}

// ofStack reports whether the event is about a stack as a whole, which may be a nested one.
func (e Event) ofStack() bool { return e.Resource == e.stack() }

// stackOf returns the name and the id of a stack from its URL.
func stackOf(href string) (name, id string) {
	u, err := url.Parse(href)
	if err != nil {
		return "", ""
	}
	_, rest, _ := strings.Cut(u.Path, "/stacks/")
	parts := strings.Split(rest, "/")
	if len(parts) < 2 {
		return "", ""
	}
	return parts[0], parts[1]
}
