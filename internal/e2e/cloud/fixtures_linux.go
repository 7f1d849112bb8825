package cloud

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"github.com/gophercloud/gophercloud/v2"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// AddFlavor creates a flavor. It does nothing if the cloud has a flavor with the name from an earlier run. AddImage and
// AddNetwork do the same for their resources.
func (c *Cloud) AddFlavor(ctx context.Context, name string) error {
	if id, err := find(ctx, c.Compute, "flavors", name); id != "" || err != nil {
		return err
	}
	return call(ctx, c.Compute, http.MethodPost, map[string]any{"flavor": map[string]any{"name": name, "ram": 64, "vcpus": 1, "disk": 1}}, nil, "flavors")
}

// AddImage creates an image of zeros. That of an administrator is for all projects.
func (c *Cloud) AddImage(ctx context.Context, name string) error {
	if id, err := find(ctx, c.Image, "images", name); id != "" || err != nil {
		return err
	}
	visibility := "private"
	if c.project == admin {
		visibility = "public"
	}
	var made item
	err := call(ctx, c.Image, http.MethodPost, map[string]any{"name": name, "disk_format": "raw", "container_format": "bare", "visibility": visibility}, &made, "images")
	if err != nil {
		return err
	}
	_, err = c.Image.Put(ctx, c.Image.ServiceURL("images", made.ID, "file"), nil, nil, &gophercloud.RequestOpts{ //nolint:bodyclose // gophercloud closes it
		RawBody: bytes.NewReader(make([]byte, 1<<20)), MoreHeaders: map[string]string{"Content-Type": "application/octet-stream"},
		OkCodes: []int{http.StatusNoContent}})
	return err
}

// AddNetwork creates a network and a subnet with the same name, and returns the id of the network. Neutron allocates the
// addresses from first to last.
func (c *Cloud) AddNetwork(ctx context.Context, name string, prefix netip.Prefix, first, last netip.Addr) (string, error) {
	if id, err := find(ctx, c.Network, "networks?project_id="+c.projectID, name); id != "" || err != nil {
		return id, err
	}
	var made struct {
		Network item `json:"network"`
	}
	err := call(ctx, c.Network, http.MethodPost, map[string]any{"network": map[string]any{"name": name}}, &made, "networks")
	if err != nil {
		return "", err
	}
	return made.Network.ID, call(ctx, c.Network, http.MethodPost, map[string]any{"subnet": map[string]any{"network_id": made.Network.ID, "name": name,
		"cidr": prefix.String(), "ip_version": 4, "enable_dhcp": false, "gateway_ip": nil,
		"allocation_pools": []any{map[string]any{"start": first.String(), "end": last.String()}}}}, nil, "subnets")
}

// AddPort creates a port on a network and returns its id.
func (c *Cloud) AddPort(ctx context.Context, network string) (string, error) {
	var made struct {
		Port item `json:"port"`
	}
	err := call(ctx, c.Network, http.MethodPost, map[string]any{"port": map[string]any{"network_id": network}}, &made, "ports")
	return made.Port.ID, err
}

// DeletePort deletes a port.
func (c *Cloud) DeletePort(ctx context.Context, id string) error {
	return call(ctx, c.Network, http.MethodDelete, nil, nil, "ports", id)
}

// Left lists the servers, ports, stacks, volumes and uploaded images of the project.
func (c *Cloud) Left(ctx context.Context) ([]string, error) {
	var out []string
	var errs []error
	for _, kind := range []struct {
		service *gophercloud.ServiceClient
		name    string
	}{{c.Compute, "servers"}, {c.Network, "ports?project_id=" + c.projectID}, {c.Orchestration, "stacks"}, {c.Volume, "volumes"}, {c.Image, "images?tag=vnfkit&owner=" + c.projectID}} {
		items, err := list(ctx, kind.service, kind.name)
		errs = append(errs, err)
		what, _, _ := strings.Cut(kind.name, "?")
		for _, i := range items {
			out = append(out, what+" "+i.ID+" "+i.Name)
		}
	}
	return out, errors.Join(errs...)
}

// Clear deletes the stacks that a failed test or a killed run has left, and waits until all their resources are deleted.
func (c *Cloud) Clear(ctx context.Context) error {
	stacks, err := list(ctx, c.Orchestration, "stacks")
	if err != nil {
		return err
	}
	for _, s := range stacks {
		if err := call(ctx, c.Orchestration, http.MethodDelete, nil, nil, "stacks", s.Name, s.ID); err != nil {
			return err
		}
	}
	return retry.Policy{First: 500 * time.Millisecond, Most: 500 * time.Millisecond, Within: 5 * time.Minute}.Do(ctx, func() error {
		left, err := c.Left(ctx)
		if err == nil && len(left) != 0 {
			err = fmt.Errorf("the cloud in %s has %q: a folder of its own is for a new one", c.dir, left)
		}
		return err
	})
}
