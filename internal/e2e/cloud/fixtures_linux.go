package cloud

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"

	"github.com/gophercloud/gophercloud/v2"
)

// call makes one request of a service.
func call(ctx context.Context, service *gophercloud.ServiceClient, method string, body, into any, path ...string) error {
	_, err := service.Request(ctx, method, service.ServiceURL(path...), &gophercloud.RequestOpts{JSONBody: body, JSONResponse: into, //nolint:bodyclose // gophercloud closes it
		OkCodes: []int{http.StatusOK, http.StatusCreated, http.StatusAccepted, http.StatusNoContent}})
	if err != nil {
		return fmt.Errorf("%s %v: %w", method, path, err)
	}
	return nil
}

// AddFlavor makes a flavor for servers that boot nothing.
func (c *Cloud) AddFlavor(ctx context.Context, name string) error {
	return call(ctx, c.Compute, http.MethodPost, map[string]any{"flavor": map[string]any{"name": name, "ram": 64, "vcpus": 1, "disk": 1}}, nil, "flavors")
}

// AddImage makes an image of zeros.
func (c *Cloud) AddImage(ctx context.Context, name string) error {
	var made struct {
		ID string `json:"id"`
	}
	err := call(ctx, c.Image, http.MethodPost, map[string]any{"name": name, "disk_format": "raw", "container_format": "bare"}, &made, "images")
	if err != nil {
		return err
	}
	_, err = c.Image.Put(ctx, c.Image.ServiceURL("images", made.ID, "file"), nil, nil, &gophercloud.RequestOpts{ //nolint:bodyclose // gophercloud closes it
		RawBody: bytes.NewReader(make([]byte, 1<<20)), MoreHeaders: map[string]string{"Content-Type": "application/octet-stream"},
		OkCodes: []int{http.StatusNoContent}})
	return err
}

// AddNetwork makes a network with a subnet and returns its id. Neutron gives addresses from the upper half of
// the prefix.
func (c *Cloud) AddNetwork(ctx context.Context, name string, prefix netip.Prefix, first, last netip.Addr) (string, error) {
	var made struct {
		Network struct {
			ID string `json:"id"`
		} `json:"network"`
	}
	err := call(ctx, c.Network, http.MethodPost, map[string]any{"network": map[string]any{"name": name}}, &made, "networks")
	if err != nil {
		return "", err
	}
	return made.Network.ID, call(ctx, c.Network, http.MethodPost, map[string]any{"subnet": map[string]any{"network_id": made.Network.ID,
		"cidr": prefix.String(), "ip_version": 4, "enable_dhcp": false, "gateway_ip": nil,
		"allocation_pools": []any{map[string]any{"start": first.String(), "end": last.String()}}}}, nil, "subnets")
}

// Left lists the servers, ports and stacks that there are.
func (c *Cloud) Left(ctx context.Context) ([]string, error) {
	var out []string
	var errs []error
	for _, list := range []struct {
		service *gophercloud.ServiceClient
		name    string
	}{{c.Compute, "servers"}, {c.Network, "ports"}, {c.Orchestration, "stacks"}} {
		var body map[string]json.RawMessage // the list, and links beside it
		var items []struct {
			ID        string `json:"id"`
			Name      string `json:"name"`
			StackName string `json:"stack_name"`
		}
		err := call(ctx, list.service, http.MethodGet, nil, &body, list.name)
		if err == nil {
			err = json.Unmarshal(body[list.name], &items)
		}
		errs = append(errs, err)
		for _, item := range items {
			out = append(out, list.name+" "+item.ID+" "+item.Name+item.StackName)
		}
	}
	return out, errors.Join(errs...)
}
