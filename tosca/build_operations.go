package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// buildOperations reads lcm_operations_configuration of the VNF node.
func (b *flavourBuilder) buildOperations() {
	for _, f := range b.fields(b.vnfProperty("lcm_operations_configuration")) {
		n := b.eval(f.Value)
		if n == nil {
			continue
		}
		switch o := &b.Operations; f.Key {
		case "instantiate":
			o.Instantiate = &InstantiateConfiguration{b.boolean(n.Get("target_scale_levels_supported"))}
		case "scale":
			o.Scale = &ScaleConfiguration{b.boolean(n.Get("scaling_by_more_than_one_step_supported"))}
		case "scale_to_level":
			o.ScaleToLevel = &ScaleToLevelConfiguration{b.boolean(n.Get("arbitrary_target_levels_supported"))}
		case "heal":
			o.Heal = &HealConfiguration{b.texts(n.Get("causes"))}
		case "terminate":
			o.Terminate = b.timeouts(n, "min_graceful_termination_timeout", "max_recommended_graceful_termination_timeout")
		case "operate":
			o.Operate = b.timeouts(n, "min_graceful_stop_timeout", "max_recommended_graceful_stop_timeout")
		default:
			if o.Other == nil {
				o.Other = map[string]any{}
			}
			o.Other[f.Key] = b.value(n)
		}
	}
}

func (b *flavourBuilder) timeouts(n *yamltree.Node, shortest, longest string) *TimeoutConfiguration {
	return &TimeoutConfiguration{b.duration(n.Get(shortest)), b.duration(n.Get(longest))}
}

// vnfProperty returns a property of the flavour's VNF node or, if this node does not have it, of the entry file's VNF node.
// Descriptors often set properties that all flavours share in the entry file.
func (b *flavourBuilder) vnfProperty(name string) *yamltree.Node {
	if v := b.eval(b.vnf.node.Path("properties", name)); v != nil {
		return v
	}
	if entry, ok := b.builder.entry.vnf(); ok {
		if v := b.builder.entry.eval(entry.node.Path("properties", name), entry); v != nil {
			return v
		}
	}
	return b.topo.property(b.vnf, name)
}
