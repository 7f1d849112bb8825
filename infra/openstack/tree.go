package openstack

import (
	"context"
	"strings"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/tosca"
)

// Types of resources that mean something to a VNF.
const (
	typeServer     = "OS::Nova::Server"
	typePort       = "OS::Neutron::Port"
	typeNet        = "OS::Neutron::Net"
	typeFloatingIP = "OS::Neutron::FloatingIP"
	typeVolume     = "OS::Cinder::Volume"
)

// tree is the resources of the stack of an instance, as Heat lists them.
type tree struct {
	instance string
	flavour  *tosca.Flavour
	list     []heat.Resource
	aliases  map[string]string // ids that VNFCs have from an earlier stack
}

// server is a resource that makes a VNFC.
type server struct {
	heat.Resource
	vnfc string // id of the VNFC
	vdu  string
	// group and member are set when the server is in a member of a scaling group: the resource of the group,
	// and that of the member in the group's own stack.
	group, member *heat.Resource
	index         string // of a VNFC whose resource is numbered: VDU1-0
}

// servers are the resources that make VNFCs: servers named as a VDU, or within a resource `VDU-number`.
func (t tree) servers() []server {
	byID := map[string]*heat.Resource{} // what a nested stack is made by
	for i := range t.list {
		if t.list[i].Nested != "" {
			byID[t.list[i].Nested] = &t.list[i]
		}
	}
	var out []server
	for _, r := range t.list {
		if r.Type != typeServer {
			continue
		}
		vdu, index := t.vduOf(r)
		if vdu == "" {
			continue
		}
		s := server{Resource: r, vdu: vdu, index: index, vnfc: t.idOf(r)}
		if holder := byID[r.StackID]; holder != nil {
			if group := byID[holder.StackID]; group != nil && isGroup(group.Type) {
				s.group, s.member = group, holder
			}
		}
		if group := byID[r.StackID]; group != nil && isGroup(group.Type) {
			member := r
			s.group, s.member = group, &member // the group's members are servers themselves
		}
		out = append(out, s)
	}
	return out
}

func isGroup(kind string) bool {
	return strings.HasPrefix(kind, "OS::Heat::") && strings.HasSuffix(kind, "Group")
}

// vduOf finds the VDU that a server is of, and its index: by its own name or, the innermost first, by the name
// of what holds it.
func (t tree) vduOf(r heat.Resource) (vdu, index string) {
	for i := len(r.Path) - 1; i >= 0; i-- {
		name := r.Path[i]
		if vdu == "" && t.flavour.VDU(name) != nil {
			vdu = name
		}
		base, number := cutIndex(name)
		if number != "" && t.flavour.VDU(name) == nil && t.flavour.VDU(base) != nil {
			return base, number
		}
	}
	return vdu, ""
}

// cutIndex splits VDU1-0 into VDU1 and 0.
func cutIndex(name string) (base, index string) {
	at := strings.LastIndexByte(name, '-')
	if at < 0 || at == len(name)-1 || strings.Trim(name[at+1:], "0123456789") != "" {
		return name, ""
	}
	return name[:at], name[at+1:]
}

// idOf is the id of what a resource makes. It follows from the names of the resource and its holders, which
// stay when what they make is replaced.
func (t tree) idOf(r heat.Resource) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(t.instance+"/"+strings.Join(r.Path, "/"))).String()
	if alias := t.aliases[id]; alias != "" {
		return alias
	}
	return id
}

// sibling returns the resource of that name beside another one.
func (t tree) sibling(r heat.Resource, name string) *heat.Resource {
	for i := range t.list {
		if t.list[i].StackID == r.StackID && t.list[i].Name == name {
			return &t.list[i]
		}
	}
	return nil
}

// aliasKey begins the keys under which the ids of VNFCs are kept that have come over from an earlier stack.
const aliasKey = "openstack/vnfc/"

// aliases reads the ids that adopt has written.
func (w *work) aliases(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	return out, readState(ctx, w.op.State(), aliasKey, out)
}
