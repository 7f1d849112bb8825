package openstack

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/compute/v2/servers"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// machine holds attributes of a server in Nova.
type machine struct{ name, zone, host string }

// machines asks Nova for each server of list. The entry of a server that Nova does not have stays empty: healing replaces
// the server.
func (w *work) machines(ctx context.Context, list []server) ([]machine, error) {
	out := make([]machine, len(list))
	places := make([]int, len(list))
	for i := range places {
		places[i] = i
	}
	return out, vnflcm.Each(ctx, parallel, places, func(ctx context.Context, i int) error {
		s, err := servers.Get(ctx, w.clients.Nova, list[i].PhysicalID).Extract()
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("look at server %s: %w", list[i].PhysicalID, w.clients.Explain(err))
		}
		// A user without the right to see the compute host gets a hash of the host and the project instead.
		out[i] = machine{name: s.Name, zone: s.AvailabilityZone, host: cmp.Or(s.Host, s.HostID)}
		return nil
	})
}

// inOneRequest is how many ids one request asks for. It is limited by the length of a URL.
const inOneRequest = 100

// network asks Neutron for the ports of the servers, for those of the stack, and for their floating addresses.
func (w *work) network(ctx context.Context, t tree, list []server) (*network, error) {
	n := &network{ports: map[string]port{}, ofServer: map[string][]string{}, serverOf: map[string]string{},
		floating: map[string]netip.Addr{}, portOfFloating: map[string]string{}}
	var serverIDs, portIDs []string
	for _, s := range list {
		serverIDs = append(serverIDs, s.PhysicalID)
	}
	if err := w.ports(ctx, n, "device_id", serverIDs); err != nil {
		return nil, err
	}
	for _, r := range t.list {
		if _, known := n.ports[r.PhysicalID]; r.Type == typePort && r.PhysicalID != "" && !known {
			portIDs = append(portIDs, r.PhysicalID)
		}
	}
	if err := w.ports(ctx, n, "id", portIDs); err != nil {
		return nil, err
	}
	return n, w.floatingIPs(ctx, n)
}

func (w *work) ports(ctx context.Context, n *network, by string, ids []string) error {
	for chunk := range slices.Chunk(ids, inOneRequest) {
		var body struct {
			Ports []struct {
				ID     string `json:"id"`
				Server string `json:"device_id"`
				MAC    string `json:"mac_address"`
				Fixed  []struct {
					Address netip.Addr `json:"ip_address"`
				} `json:"fixed_ips"`
			} `json:"ports"`
		}
		query := url.Values{by: chunk, "fields": {"id", "device_id", "mac_address", "fixed_ips"}}
		if err := w.neutron(ctx, "ports", query, &body); err != nil {
			return err
		}
		for _, p := range body.Ports {
			known := port{mac: p.MAC}
			for _, f := range p.Fixed {
				known.fixed = append(known.fixed, f.Address)
			}
			n.ports[p.ID], n.serverOf[p.ID] = known, p.Server
			if p.Server != "" {
				n.ofServer[p.Server] = append(n.ofServer[p.Server], p.ID)
			}
		}
	}
	return nil
}

func (w *work) floatingIPs(ctx context.Context, n *network) error {
	var ids []string
	for id := range n.ports {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for chunk := range slices.Chunk(ids, inOneRequest) {
		var body struct {
			FloatingIPs []struct {
				ID      string     `json:"id"`
				Port    string     `json:"port_id"`
				Address netip.Addr `json:"floating_ip_address"`
			} `json:"floatingips"`
		}
		query := url.Values{"port_id": chunk, "fields": {"id", "port_id", "floating_ip_address"}}
		err := w.neutron(ctx, "floatingips", query, &body)
		if gophercloud.ResponseCodeIs(err, http.StatusNotFound) {
			return nil // a cloud without routers has no floating addresses
		}
		if err != nil {
			return err
		}
		for _, f := range body.FloatingIPs {
			n.floating[f.Port], n.portOfFloating[f.ID] = f.Address, f.Port
		}
	}
	return nil
}

// neutron asks Neutron for a list. The list functions of gophercloud accept one value per filter; this query has many.
func (w *work) neutron(ctx context.Context, list string, query url.Values, into any) error {
	_, err := w.clients.Neutron.Get(ctx, w.clients.Neutron.ServiceURL(list)+"?"+query.Encode(), into, nil) //nolint:bodyclose // gophercloud closes it
	if err != nil {
		return fmt.Errorf("list %s: %w", list, w.clients.Explain(err))
	}
	return nil
}
