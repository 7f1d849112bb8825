package heat

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gophercloud/gophercloud/v2"
)

// Resource is a resource of a stack or of a stack nested in it.
type Resource struct {
	Name       string
	Type       string
	PhysicalID string
	Status     Status
	Reason     string
	Created    time.Time

	StackName, StackID string // of the stack that contains the resource
	Nested             string // id of the nested stack, if the resource is a stack
	NestedName         string // name of the nested stack
	// Path holds the names of the resources that contain the resource, the outermost first, and its name at the end.
	Path []string
}

// Resources lists the resources of a stack and of the stacks nested in it. A nested stack comes before its resources.
// Resources sends one request, for any number of resources.
func (c *Client) Resources(ctx context.Context, s *Stack) ([]Resource, error) {
	var body struct {
		Resources []struct {
			Name       string             `json:"resource_name"`
			Type       string             `json:"resource_type"`
			PhysicalID string             `json:"physical_resource_id"`
			Status     Status             `json:"resource_status"`
			Reason     string             `json:"resource_status_reason"`
			Created    time.Time          `json:"creation_time"`
			Links      []gophercloud.Link `json:"links"`
		} `json:"resources"`
	}
	err := c.call(ctx, "list the resources of stack "+s.Name, http.MethodGet,
		c.api.ServiceURL("stacks", s.Name, s.ID, "resources")+"?nested_depth="+strconv.Itoa(depth), nil, &body)
	if err != nil {
		return nil, err
	}
	out := make([]Resource, len(body.Resources))
	holders := map[string]*Resource{} // resources that are stacks, by the id of the nested stack
	for i, r := range body.Resources {
		out[i] = Resource{Name: r.Name, Type: r.Type, PhysicalID: r.PhysicalID, Status: r.Status, Reason: r.Reason, Created: r.Created}
		for _, link := range r.Links {
			switch link.Rel {
			case "stack":
				out[i].StackName, out[i].StackID = stackOf(link.Href)
			case "nested":
				out[i].NestedName, out[i].Nested = stackOf(link.Href)
			}
		}
		if out[i].Nested != "" {
			holders[out[i].Nested] = &out[i]
		}
	}
	return inTree(out, holders), nil
}

// inTree sets the paths of the resources and sorts nested stacks before their resources.
func inTree(list []Resource, holders map[string]*Resource) []Resource {
	for i := range list {
		for r := &list[i]; r != nil && len(list[i].Path) <= depth+1; r = holders[r.StackID] {
			list[i].Path = append([]string{r.Name}, list[i].Path...)
		}
	}
	out := make([]Resource, 0, len(list))
	for level := 1; len(out) < len(list) && level <= depth+2; level++ {
		for _, r := range list {
			if len(r.Path) == level {
				out = append(out, r)
			}
		}
	}
	return out
}
