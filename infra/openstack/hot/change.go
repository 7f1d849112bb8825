package hot

import (
	"fmt"
	"slices"
	"strconv"

	"gopkg.in/yaml.v3"
)

// SetCapacity writes the number of members of a group into the base HOT, in the place of what is there.
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

// UseNetwork takes a network from outside for a virtual link: the network of that name is not made, nor are
// its subnets, and whatever refers to it gets the id. It reports whether the base HOT has such a network.
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

// replaceResource puts an id in the place of every get_resource of a resource.
func replaceResource(n *yaml.Node, name, id string) {
	for i, c := range n.Content {
		if c.Kind == yaml.MappingNode && len(c.Content) == 2 && c.Content[0].Value == "get_resource" && c.Content[1].Value == name {
			n.Content[i] = scalar(id)
			continue
		}
		replaceResource(c, name, id)
	}
}

// forget removes what still names removed resources: entries of depends_on, outputs.
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

// mentions reports whether something is taken from one of the resources.
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

// HostKeys is the parameter of a base HOT that takes the SSH host keys of servers, by VDU: [ssh_host_keys, VDU1].
const HostKeys = "ssh_host_keys"

// Individual makes a resource of its own for each VNFC of a VDU: of the resource that is named as the VDU come
// VDU-0, VDU-1 and so on, with these indices. Each takes its values from parameters of its own: the third
// element of its get_param paths gets the index as well, as in [nfv, VDU, VDU1-0, vcImageId]. This is how
// Tacker's StandardUserData addresses VNFCs one by one. So does the second element of the paths in HostKeys.
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

// GroupOf returns the group whose members hold a server of that name, nil when none does.
func (t *Template) GroupOf(server string) *Group {
	groups := t.Groups()
	if i := slices.IndexFunc(groups, func(g Group) bool { return slices.Contains(g.Servers, server) }); i >= 0 {
		return &groups[i]
	}
	return nil
}

// String names the template by its file.
func (t *Template) String() string { return fmt.Sprintf("HOT %s", t.path) }
