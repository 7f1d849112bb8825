package openstack

import (
	"context"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/tosca"
)

// Types of resources that become part of vnflcm.Resources.
const (
	typeServer     = "OS::Nova::Server"
	typePort       = "OS::Neutron::Port"
	typeNet        = "OS::Neutron::Net"
	typeFloatingIP = "OS::Neutron::FloatingIP"
	typeVolume     = "OS::Cinder::Volume"
)

// tree holds the resources of the stack of an instance, as Heat lists them.
type tree struct {
	instance string
	flavour  *tosca.Flavour
	list     []heat.Resource
	aliases  map[string]string // VNFC ids from an earlier stack, by the id in this stack
}

// server is a resource of type OS::Nova::Server that belongs to a VDU: one VNFC.
type server struct {
	heat.Resource
	vnfc string // id of the VNFC
	vdu  string
	// group and member are set if the server belongs to a scaling group: the resource of the group, and the resource of
	// the member in the nested stack of the group.
	group, member *heat.Resource
	index         string // number in the name of the resource, "0" of VDU1-0; empty outside of numbered resources
}

// servers returns the servers that belong to a VDU: the server, or a resource that contains it, has the name of the VDU
// or the form VDU-number.
func (t tree) servers() []server {
	byID := map[string]*heat.Resource{} // the resource that creates a nested stack, by the id of the stack
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
			s.group, s.member = group, &member // each member of the group is a server
		}
		out = append(out, s)
	}
	return out
}

// isOutdated reports whether an update of the server of a VNFC, or of the resource of a group that contains the server, has not succeeded.
func (t tree) isOutdated(vnfc string) bool {
	outdated := func(r heat.Resource) bool { return r.Status.Action() == "UPDATE" && !r.Status.Complete() }
	return slices.ContainsFunc(t.servers(), func(s server) bool {
		return s.vnfc == vnfc && (outdated(s.Resource) || s.member != nil && outdated(*s.member))
	})
}

func isGroup(kind string) bool {
	return strings.HasPrefix(kind, "OS::Heat::") && strings.HasSuffix(kind, "Group")
}

// vduOf returns the VDU of a server and its index. It compares the name of the server and then, from the innermost to the
// outermost, the names of the resources that contain the server. A name with an index takes precedence.
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

// idOf returns the id of the VNFC, link or storage of a resource. The id is computed from the names of the resource and
// of the resources that contain it, so it stays the same when Heat replaces the server, network or volume.
func (t tree) idOf(r heat.Resource) string { return t.idAt(r.Path) }

// idAt returns the id of the VNFC, link or storage at a path of the stack.
func (t tree) idAt(path []string) string {
	id := uuid.NewSHA1(uuid.NameSpaceOID, []byte(t.instance+"/"+strings.Join(path, "/"))).String()
	if alias := t.aliases[id]; alias != "" {
		return alias
	}
	return id
}

// sizeOf returns the number of members of a group of the stack.
func (t tree) sizeOf(group string) (n int) {
	for _, r := range t.list {
		if len(r.Path) == 2 && r.Path[0] == group {
			n++
		}
	}
	return n
}

// sibling returns the resource with the given name in the stack of r, or nil.
func (t tree) sibling(r heat.Resource, name string) *heat.Resource {
	for i := range t.list {
		if t.list[i].StackID == r.StackID && t.list[i].Name == name {
			return &t.list[i]
		}
	}
	return nil
}

// aliasKey is the prefix of the state keys of VNFC ids that were taken over from an earlier stack.
const aliasKey = "openstack/vnfc/"

// aliases reads the ids that adopt has written.
func (w *work) aliases(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	return out, readState(ctx, w.op.State(), aliasKey, out)
}
