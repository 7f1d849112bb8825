package heat

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
)

const (
	stacksAtOnce = 100
	maxStacks    = 100_000 // more than a project has; a hostile Heat could list stacks without end
)

var errEndless = errors.New("heat lists more stacks than a project can have")

// Tagged lists the stacks of the project with a tag, without nested and deleted stacks: their names, ids and tags.
func (c *Client) Tagged(ctx context.Context, tag string) (all []Stack, err error) {
	query := url.Values{"tags": {tag}, "limit": {strconv.Itoa(stacksAtOnce)}}
	for {
		var page struct {
			Stacks []struct {
				Name   string   `json:"stack_name"`
				ID     string   `json:"id"`
				Status Status   `json:"stack_status"`
				Tags   []string `json:"tags"`
			} `json:"stacks"`
		}
		if err := c.call(ctx, "list stacks", http.MethodGet, c.api.ServiceURL("stacks")+"?"+query.Encode(), nil, &page); err != nil {
			return nil, err
		}
		for _, s := range page.Stacks {
			all = append(all, Stack{Name: s.Name, ID: s.ID, Status: s.Status, Tags: s.Tags})
		}
		if len(page.Stacks) < stacksAtOnce {
			return all, nil
		}
		if len(all) > maxStacks {
			return nil, errEndless
		}
		query.Set("marker", all[len(all)-1].ID)
	}
}
