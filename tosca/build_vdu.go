package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func (b *flavourBuilder) buildVDUs() {
	for _, n := range b.topo.of(typeVDU) {
		v := b.at(n).vdu(n)
		v.Kind, v.Image, v.Compute = ComputeVDU, b.at(n).image(n), b.at(n).compute(n)
		b.VDUs = append(b.VDUs, v)
	}
	for _, n := range b.topo.of(typeContainerVDU) {
		b.VDUs = append(b.VDUs, b.at(n).containerVDU(n))
	}
	sortByID(b.VDUs, func(v VDU) string { return v.ID })
}

// vdu reads the properties of VDUs of both kinds.
func (b *flavourBuilder) vdu(n template) VDU {
	profile := b.topo.property(n, "vdu_profile")
	v := VDU{
		ID:                     n.id,
		Name:                   b.text(b.topo.property(n, "name")),
		Description:            b.text(b.topo.property(n, "description")),
		Min:                    b.count(profile.Get("min_number_of_instances"), 0),
		Max:                    b.count(profile.Get("max_number_of_instances"), -1),
		Storages:               b.targets(n, "virtual_storage"),
		Capabilities:           b.capabilities(b.requestedCapabilities(n)),
		NFVIConstraints:        b.constraints(b.topo.property(n, "nfvi_constraints")),
		BootData:               b.value(b.topo.property(n, "boot_data")),
		ConfigurableProperties: b.mapping(b.topo.property(n, "configurable_properties")),
		Artifacts:              b.artifacts(n),
		Pos:                    n.pos,
	}
	if v.Max >= 0 && v.Max < v.Min {
		b.report.Errorf(profile.Pos, problem.OutsideProfile, "the VDU %s has a maximum of %d instances below its minimum of %d", n.id, v.Max, v.Min)
	}
	v.Initial = v.Min
	return v
}

// compute reads the virtual_compute capability.
func (b *flavourBuilder) compute(n template) Compute {
	of := func(property string) *yamltree.Node { return b.topo.capability(n, "virtual_compute", property) }
	result := Compute{
		VirtualCPUs:     b.count(b.path(of("virtual_cpu"), "num_virtual_cpu"), 0),
		CPUArchitecture: b.text(b.path(of("virtual_cpu"), "cpu_architecture")),
		Memory:          b.bytes(b.path(of("virtual_memory"), "virtual_mem_size")),
	}
	for _, disk := range b.items(of("virtual_local_storage")) {
		result.LocalStorage = append(result.LocalStorage, b.bytes(b.path(disk, "size_of_storage")))
	}
	for _, c := range b.fields(of("requested_additional_capabilities")) {
		if name := b.text(b.path(c.Value, "requested_additional_capability_name")); name != "" {
			result.FlavourName = name
			break
		}
	}
	return result
}

// requestedCapabilities returns requested_additional_capabilities: from the capability of a compute VDU, or from the property of a
// container VDU.
func (b *flavourBuilder) requestedCapabilities(n template) *yamltree.Node {
	if c := b.topo.capability(n, "virtual_compute", "requested_additional_capabilities"); c != nil {
		return c
	}
	return b.topo.property(n, "requested_additional_capabilities")
}

func (b *flavourBuilder) capabilities(n *yamltree.Node) []RequestedCapability {
	var list []RequestedCapability
	for _, f := range sortedFields(b.fields(n)) {
		c := b.eval(f.Value)
		list = append(list, RequestedCapability{
			Name:             b.text(c.Get("requested_additional_capability_name")),
			Mandatory:        b.boolean(c.Get("support_mandatory")),
			MinVersion:       b.text(c.Get("min_requested_additional_capability_version")),
			PreferredVersion: b.text(c.Get("preferred_requested_additional_capability_version")),
			Performance:      b.textMap(c.Get("target_performance_parameters")),
		})
	}
	return list
}

// constraints reads nfvi_constraints, which is a list of keys up to SOL001 v2.5.1.
func (b *flavourBuilder) constraints(n *yamltree.Node) map[string]string {
	if !b.eval(n).Is(yamltree.Sequence) {
		return b.textMap(n)
	}
	found := map[string]string{}
	for _, key := range b.texts(n) {
		found[key] = ""
	}
	return found
}

// targets returns the targets of the requirements with this name, in document order.
func (b *flavourBuilder) targets(n template, requirement string) []string {
	var ids []string
	for _, r := range b.topo.requirements(n) {
		if r.name == requirement && r.target != "" && b.exists(r.target, r.pos) {
			ids = append(ids, r.target)
		}
	}
	return ids
}

// target returns the last of targets, "" if targets is empty.
func (b *flavourBuilder) target(n template, requirement string) string {
	if ids := b.targets(n, requirement); len(ids) > 0 {
		return ids[len(ids)-1]
	}
	return ""
}

// artifacts returns the artifacts of a template by their keys, nil for a template without artifacts.
func (v values) artifacts(n template) map[string]Artifact {
	var found map[string]Artifact
	for _, f := range v.topo.inherited(n, "artifacts") {
		if !v.topo.spend(f.Value, 5) {
			break
		}
		if found == nil {
			found = map[string]Artifact{}
		}
		found[f.Key] = v.artifact(f)
	}
	return found
}

func (v values) artifact(f yamltree.Field) Artifact {
	a := Artifact{File: f.Value.Str(), Pos: f.Pos} // short notation
	if !f.Value.Is(yamltree.Mapping) {
		return a
	}
	for _, key := range f.Value.Fields {
		switch key.Key {
		case "type":
			a.Type = v.text(key.Value)
		case "file":
			a.File = v.text(key.Value)
		case "description":
			a.Description = v.text(key.Value)
		case "properties":
			a.Properties = v.mapping(key.Value)
		default:
			if a.Other == nil {
				a.Other = map[string]any{}
			}
			a.Other[key.Key] = v.value(key.Value)
		}
	}
	return a
}

// exists returns true if the flavour has a node template of this name. Otherwise it reports a problem.
func (b *flavourBuilder) exists(name string, pos problem.Position) bool {
	if _, ok := b.topo.byID[name]; !ok {
		b.report.Errorf(pos, problem.UnknownNode, "there is no node template %q", name)
		return false
	}
	return true
}
