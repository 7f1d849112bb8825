package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Keys of the metadata of VNFCs and of the VNF. Keys that Tacker's version 2 API has as well have the same names.
const (
	metaStack       = "stack_id"             // VNFC: name/id of the stack with its resource; VNF: id of the stack
	metaParentStack = "parent_stack_id"      // name/id of the nested stack of the group that the VNFC belongs to
	metaMember      = "parent_resource_name" // name of the group member in that stack
	metaCreated     = "creation_time"        // of the group member or, outside of groups, of the server; RFC 3339
	metaIndex       = "vdu_idx"              // number in the name of the resource, "0" of VDU1-0
)

// Resources implements vnflcm.InfraDriver. It sends a fixed number of requests to Heat, requests for up to a hundred
// servers or ports each to Neutron, and one request for every server to Nova.
func (d *Driver) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	s, err := w.find(ctx)
	if errors.Is(err, ErrForeignStack) {
		return vnflcm.Resources{}, nil // the VNF has no stack
	}
	if err != nil || s == nil {
		return vnflcm.Resources{}, err
	}
	t, err := w.tree(ctx, s)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	out, err := w.resources(ctx, s, t)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	known, err := w.knownKeys(ctx)
	for i := range out.VNFCs {
		out.VNFCs[i].HostKey = known.of(out.VNFCs[i])
	}
	return out, err
}

// ReadStack reads the resources of a stack that another program, for example Tacker, has created for a VNF. It changes
// nothing. The stack must have the name StackName(instanceID) and the id stackID. ReadStack returns ErrNoStack if no
// stack has this name, and ErrForeignStack if the stack with this name has another id. The ID of a VNFC is computed from
// instanceID and the names of the resources that contain the server, so it stays the same when Heat replaces the server.
func (d *Driver) ReadStack(ctx context.Context, vim vnflcm.VimConnectionInfo, instanceID, stackID string, flavour *tosca.Flavour) (vnflcm.Resources, error) {
	w, err := d.begin(ctx, &vnflcm.Operation{OperationData: vnflcm.OperationData{InstanceID: instanceID, VIM: vim, Flavour: flavour}})
	if err != nil {
		return vnflcm.Resources{}, err
	}
	s, err := w.heat.Find(ctx, StackName(instanceID))
	switch {
	case err != nil:
		return vnflcm.Resources{}, err
	case s == nil:
		return vnflcm.Resources{}, fmt.Errorf("%w: %s", ErrNoStack, StackName(instanceID))
	case s.ID != stackID:
		return vnflcm.Resources{}, fmt.Errorf("%w: %s has the id %s, not %s", ErrForeignStack, s.Name, s.ID, stackID)
	}
	return w.read(ctx, s)
}

// read returns the resources of a stack that another program has created. No VNFC has an alias from an earlier stack.
func (w *work) read(ctx context.Context, s *heat.Stack) (vnflcm.Resources, error) {
	list, err := w.heat.Resources(ctx, s)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	return w.resources(ctx, s, tree{instance: w.op.InstanceID, flavour: w.op.Flavour, list: list})
}

// resources returns the VNFCs, connection points, links and storages of the stack. Servers that Heat has not created yet
// are left out.
func (w *work) resources(ctx context.Context, s *heat.Stack, t tree) (vnflcm.Resources, error) {
	made := slices.DeleteFunc(t.servers(), func(s server) bool { return s.PhysicalID == "" })
	net, err := w.network(ctx, t, made)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	machines, err := w.machines(ctx, made)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	out := vnflcm.Resources{Metadata: map[string]string{metaStack: s.ID}}
	for i, s := range made {
		out.VNFCs = append(out.VNFCs, t.vnfc(s, machines[i], net))
	}
	out.ConnectionPoints = t.ownPorts(net)
	out.VirtualLinks, out.Storages = t.links(), t.storages()
	return out, nil
}

// vnfc describes a server with its connection points and volumes.
func (t tree) vnfc(s server, m machine, net *network) vnflcm.VNFC {
	v := vnflcm.VNFC{ID: s.vnfc, ResourceID: s.PhysicalID, VDU: s.vdu, Name: m.name, Zone: m.zone, Host: m.host,
		Aspect: aspectOf(t.flavour, s.vdu), Metadata: map[string]string{metaStack: s.StackName + "/" + s.StackID,
			metaCreated: s.Created.UTC().Format(time.RFC3339)}}
	if s.group != nil {
		v.Metadata[metaParentStack] = s.member.StackName + "/" + s.member.StackID
		v.Metadata[metaMember] = s.member.Name
		v.Metadata[metaCreated] = s.member.Created.UTC().Format(time.RFC3339)
		if slices.ContainsFunc(t.flavour.Aspects, func(a tosca.Aspect) bool { return a.ID == s.group.Name }) {
			v.Aspect = s.group.Name
		}
	}
	if s.index != "" {
		v.Metadata[metaIndex] = s.index
	}
	v.CPs = t.cpsOf(s, net)
	for _, volume := range t.volumesOf(s) {
		if volume.PhysicalID != "" { // storages leaves out volumes without an id
			v.StorageIDs = append(v.StorageIDs, t.idOf(volume))
		}
	}
	return v
}

var _ vnflcm.ConnectionPointNamer = (*Driver)(nil)

// ConnectionPoints implements vnflcm.ConnectionPointNamer. It returns, for each floating address of the base HOT by its
// name, the name of the port that has the address.
func (d *Driver) ConnectionPoints(op *vnflcm.Operation) (map[string]string, error) {
	template, err := hot.Load(op.Package, op.Flavour.ID)
	if err != nil {
		return nil, err
	}
	return template.FloatingIPs(), nil
}

// cpsOf returns the connection points of a server: ports in the stack of the server that have the name of a connection
// point of the VDU, and floating addresses of these ports under the name of the address. If exactly one connection point
// of the VDU has no port resource and Nova has created exactly one port, cpsOf takes this port for that connection point.
func (t tree) cpsOf(s server, net *network) []vnflcm.ConnectionPoint {
	var out []vnflcm.ConnectionPoint
	named := map[string]bool{}
	var missing []string
	for _, cp := range t.flavour.CPs {
		if cp.VDU != s.vdu {
			continue
		}
		r := t.sibling(s.Resource, cp.ID)
		if r == nil || r.Type != typePort {
			missing = append(missing, cp.ID)
			continue
		}
		named[r.PhysicalID] = true
		out = append(out, net.cp(cp.ID, r.PhysicalID))
	}
	var others []string
	for _, p := range net.ofServer[s.PhysicalID] {
		if !named[p] {
			others = append(others, p)
		}
	}
	if len(missing) == 1 && len(others) == 1 {
		out = append(out, net.cp(missing[0], others[0]))
	}
	for _, r := range t.list {
		if r.Type == typeFloatingIP && r.StackID == s.StackID {
			if port := net.portOfFloating[r.PhysicalID]; named[port] {
				out = append(out, net.cp(r.Name, port))
			}
		}
	}
	return out
}

// ownPorts returns the ports of the VNF that belong to no server, for example the port of a virtual address.
func (t tree) ownPorts(net *network) []vnflcm.ConnectionPoint {
	var out []vnflcm.ConnectionPoint
	for _, r := range t.list {
		if r.Type == typePort && r.PhysicalID != "" && net.serverOf[r.PhysicalID] == "" && !t.besideServer(r) {
			out = append(out, net.cp(r.Name, r.PhysicalID))
		}
	}
	return out
}

// besideServer reports whether a port has the name of a VDU's connection point. Its server may not exist yet.
func (t tree) besideServer(r heat.Resource) bool {
	return slices.ContainsFunc(t.flavour.CPs, func(cp tosca.ConnectionPoint) bool { return cp.ID == r.Name })
}

func (t tree) links() []vnflcm.VirtualLink {
	var out []vnflcm.VirtualLink
	for _, r := range t.list {
		if r.Type == typeNet && r.PhysicalID != "" {
			out = append(out, vnflcm.VirtualLink{ID: t.idOf(r), VLD: r.Name, ResourceID: r.PhysicalID})
		}
	}
	return out
}

func (t tree) storages() []vnflcm.Storage {
	var out []vnflcm.Storage
	for _, r := range t.list {
		if r.Type == typeVolume && r.PhysicalID != "" {
			out = append(out, vnflcm.Storage{ID: t.idOf(r), Descriptor: r.Name, ResourceID: r.PhysicalID})
		}
	}
	return out
}

// volumesOf returns the volumes in the stack of a server: in a nested stack all volumes, in the stack of the base HOT the
// volumes that have the name of a storage of the VDU.
func (t tree) volumesOf(s server) []heat.Resource {
	vdu := t.flavour.VDU(s.vdu)
	var out []heat.Resource
	for _, r := range t.list {
		if r.Type == typeVolume && r.StackID == s.StackID && (len(s.Path) > 1 || slices.Contains(vdu.Storages, r.Name)) {
			out = append(out, r)
		}
	}
	return out
}

func aspectOf(f *tosca.Flavour, vdu string) string {
	if aspects := f.AspectsOf(vdu); len(aspects) > 0 {
		return aspects[0]
	}
	return ""
}

// network holds the attributes of the VNF's ports in Neutron.
type network struct {
	ports          map[string]port
	ofServer       map[string][]string   // ports by server
	serverOf       map[string]string     // server by port
	floating       map[string]netip.Addr // by port
	portOfFloating map[string]string     // by the id of the floating address
}

type port struct {
	mac   string
	fixed []netip.Addr
}

func (n *network) cp(cpd, id string) vnflcm.ConnectionPoint {
	p := n.ports[id]
	return vnflcm.ConnectionPoint{CPD: cpd, ResourceID: id, MAC: p.mac, Fixed: p.fixed, Floating: n.floating[id]}
}
