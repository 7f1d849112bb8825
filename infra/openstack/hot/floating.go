package hot

import "gopkg.in/yaml.v3"

// FloatingIPs returns the floating addresses of the base HOT and of its nested templates that belong to a port of the same
// template. Keys are the names of the resources of the floating addresses, values are the names of the ports' resources.
func (t *Template) FloatingIPs() map[string]string {
	out := map[string]string{}
	t.floatingIPs(out)
	for _, ref := range t.nested() {
		t.files[ref].floatingIPs(out)
	}
	return out
}

func (f *file) floatingIPs(out map[string]string) {
	f.eachResource(func(key, r *yaml.Node) {
		name, port := key.Value, text(at(r, "properties", "port_id", "get_resource"))
		switch text(get(r, "type")) {
		case "OS::Neutron::FloatingIP":
		case "OS::Neutron::FloatingIPAssociation":
			name = text(at(r, "properties", "floatingip_id", "get_resource"))
		default:
			return
		}
		if name != "" && port != "" {
			out[name] = port
		}
	})
}
