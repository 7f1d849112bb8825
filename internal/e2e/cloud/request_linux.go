package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gophercloud/gophercloud/v2"
)

// call sends one request to a service.
func call(ctx context.Context, service *gophercloud.ServiceClient, method string, body, into any, path ...string) error {
	_, err := service.Request(ctx, method, service.ServiceURL(path...), &gophercloud.RequestOpts{JSONBody: body, JSONResponse: into, //nolint:bodyclose // gophercloud closes it
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}})
	if err != nil {
		return fmt.Errorf("%s %v: %w", method, path, err)
	}
	return nil
}

// item is an entry of a list.
type item struct{ ID, Name string }

// UnmarshalJSON reads the id and the name. The name of a stack has a different key than the names of other resources.
func (i *item) UnmarshalJSON(text []byte) error {
	var body struct {
		ID        string `json:"id"`
		Name      string `json:"name"`
		StackName string `json:"stack_name"`
	}
	err := json.Unmarshal(text, &body)
	i.ID, i.Name = body.ID, body.Name+body.StackName
	return err
}

// list reads a list of servers, ports and so on. kind may contain a query. It ignores other keys of the answer.
func list(ctx context.Context, service *gophercloud.ServiceClient, kind string) (items []item, err error) {
	var body map[string]json.RawMessage
	if err := call(ctx, service, http.MethodGet, nil, &body, kind); err != nil {
		return nil, err
	}
	what, _, _ := strings.Cut(kind, "?")
	return items, json.Unmarshal(body[what], &items)
}

// find returns the id of the resource with the name, or "".
func find(ctx context.Context, service *gophercloud.ServiceClient, kind, name string) (string, error) {
	items, err := list(ctx, service, kind)
	for _, i := range items {
		if i.Name == name {
			return i.ID, nil
		}
	}
	return "", err
}
