package hot

import (
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// SetCapacity sets the number of members of a group in the base HOT. It replaces a number or a get_param.
func (t *Template) SetCapacity(group string, n int) error {
	r := at(t.root, "resources", group)
	keys, isGroup := capacityKeys[text(get(r, "type"))]
	properties := get(r, "properties")
	if !isGroup || properties == nil || properties.Kind != yaml.MappingNode {
		return t.fault(r, "%s is no group", group)
	}
	set(properties, keys.number, number(n))
	t.changed = true
	return nil
}

// UseNetwork makes the template use an existing network for a virtual link. It removes the network resource with the name
// of the virtual link and the subnets of that network, and replaces references to the resource by networkID. It returns
// false, and changes nothing, if the base HOT has no such network.
func (t *Template) UseNetwork(virtualLink, networkID string) bool {
	resources := get(t.root, "resources")
	if text(at(resources, virtualLink, "type")) != "OS::Neutron::Net" {
		return false
	}
	gone := []string{virtualLink}
	t.eachResource(func(key, r *yaml.Node) {
		for _, property := range []string{"network", "network_id"} {
			if text(get(r, "type")) == "OS::Neutron::Subnet" && text(at(r, "properties", property, "get_resource")) == virtualLink {
				gone = append(gone, key.Value)
			}
		}
	})
	for _, name := range gone {
		remove(resources, name)
	}
	replaceResource(t.root, virtualLink, networkID)
	t.forget(gone)
	t.changed = true
	return true
}

// replaceResource replaces every get_resource of the resource name by id.
func replaceResource(n *yaml.Node, name, id string) {
	for i, c := range n.Content {
		if c.Kind == yaml.MappingNode && len(c.Content) == 2 && c.Content[0].Value == "get_resource" && c.Content[1].Value == name {
			n.Content[i] = scalar(id)
			continue
		}
		replaceResource(c, name, id)
	}
}

// forget removes entries of depends_on, and outputs, that refer to removed resources.
func (t *Template) forget(gone []string) {
	t.eachResource(func(_, r *yaml.Node) {
		on := get(r, "depends_on")
		switch {
		case on == nil:
		case on.Kind == yaml.SequenceNode:
			on.Content = slices.DeleteFunc(on.Content, func(n *yaml.Node) bool { return slices.Contains(gone, n.Value) })
		case slices.Contains(gone, on.Value):
			remove(r, "depends_on")
		}
	})
	outputs := get(t.root, "outputs")
	if outputs == nil || outputs.Kind != yaml.MappingNode {
		return
	}
	for i := len(outputs.Content) - 2; i >= 0; i -= 2 {
		if mentions(outputs.Content[i+1], gone) {
			outputs.Content = slices.Delete(outputs.Content, i, i+2)
		}
	}
}

// mentions reports whether a get_resource or get_attr below n refers to one of the resources.
func mentions(n *yaml.Node, resources []string) bool {
	found := false
	walk(n, func(key string, value *yaml.Node) {
		switch {
		case key == "get_resource":
			found = found || slices.Contains(resources, value.Value)
		case key == "get_attr" && value.Kind == yaml.SequenceNode && len(value.Content) > 0:
			found = found || slices.Contains(resources, value.Content[0].Value)
		}
	})
	return found
}

// HostKeys is the parameter of a base HOT through which the driver passes SSH host keys to servers. A template reads the
// keys by the name of the VDU: get_param: [ssh_host_keys, VDU1].
const HostKeys = "ssh_host_keys"

// Individual replaces the resource with the name of a VDU by one copy for each index, so that each VNFC of the VDU has a
// separate resource and separate parameters. For VDU1 and the indices 0 and 1 the copies are named VDU1-0 and VDU1-1. In
// the copy VDU1-0 the path [nfv, VDU, VDU1, vcImageId] of a get_param becomes [nfv, VDU, VDU1-0, vcImageId], and
// [ssh_host_keys, VDU1] becomes [ssh_host_keys, VDU1-0]. Tacker's StandardUserData uses the same names. Individual returns
// an error if the resource is missing or a group, or if another resource refers to it.
func (t *Template) Individual(vdu string, indices []int) error {
	resources := get(t.root, "resources")
	model := get(resources, vdu)
	if model == nil || model.Kind != yaml.MappingNode {
		return t.fault(resources, "has no resource %s for the VDU of that name", vdu)
	}
	if _, group := capacityKeys[text(get(model, "type"))]; group {
		return t.fault(model, "%s is a group: its VNFCs are not made one by one", vdu)
	}
	remove(resources, vdu)
	for _, index := range indices {
		r := clone(model)
		suffix := "-" + strconv.Itoa(index)
		walk(get(r, "properties"), func(key string, value *yaml.Node) {
			if key != "get_param" {
				return
			}
			if len(value.Content) >= 4 && value.Content[0].Value == "nfv" && value.Content[2].Kind == yaml.ScalarNode {
				value.Content[2] = scalar(value.Content[2].Value + suffix)
			}
			if len(value.Content) >= 2 && value.Content[0].Value == HostKeys && value.Content[1].Value == vdu {
				value.Content[1] = scalar(vdu + suffix)
			}
		})
		set(resources, vdu+suffix, r)
	}
	t.changed = true
	if mentions(t.root, []string{vdu}) {
		return t.fault(resources, "something refers to the resource %s, which is made once for each VNFC", vdu)
	}
	return nil
}

// GroupOf returns the group whose members contain the server, or nil.
func (t *Template) GroupOf(server string) *Group {
	groups := t.Groups()
	if i := slices.IndexFunc(groups, func(g Group) bool { return slices.Contains(g.Servers, server) }); i >= 0 {
		return &groups[i]
	}
	return nil
}

// String returns "HOT" and the path of the file.
func (t *Template) String() string { return fmt.Sprintf("HOT %s", t.path) }
