package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// buildHooks reads the Vnflcm interface of the VNF node and its artifacts. When
// the node of the flavour has no interfaces at all, those of the entry file's VNF
// node apply.
func (b *flavourBuilder) buildHooks() {
	n := b.vnf
	if n.node.Get("interfaces") == nil {
		if entry, ok := b.builder.entry.vnf(); ok && entry.node.Get("interfaces") != nil {
			n = entry
		}
	}
	b.Hooks, b.Drivers, b.Artifacts = map[string]string{}, map[string]Artifact{}, map[string]Artifact{}
	for key, a := range b.artifacts(n) {
		if b.topo.types.Is(grammar.ArtifactTypes, a.Type, typeImplementation) {
			b.Drivers[key] = a
		} else {
			b.Artifacts[key] = a
		}
	}
	for _, f := range b.vnflcm(n).Map() {
		if driver := implementation(f.Value); driver.Str() != "" {
			b.hook(f.Key, driver)
		}
	}
	for _, a := range b.Drivers {
		if _, err := b.builder.pkg.Artifact(a.File); err != nil {
			b.report.Warnf(a.Pos, problem.MissingFile, "the file %q of the driver is not in the package", a.File)
		}
	}
}

// hook records the driver of a hook. A driver may be of any artifact type: what
// the interface names is one.
func (b *flavourBuilder) hook(name string, driver *yamltree.Node) {
	key := driver.Str()
	if a, ok := b.Artifacts[key]; ok {
		b.Drivers[key] = a
		delete(b.Artifacts, key)
	}
	if _, ok := b.Drivers[key]; !ok {
		b.report.Errorf(driver.Pos, problem.UnknownDriver, "the hook %s names the driver %q, which is no artifact of the VNF node", name, key)
		return
	}
	b.Hooks[name] = key
}

// vnflcm returns the operations of the Vnflcm interface, which stand under
// "operations" or, in the older notation, directly in the interface.
func (b *flavourBuilder) vnflcm(n template) *yamltree.Node {
	var found *yamltree.Node
	for _, f := range n.node.Get("interfaces").Map() {
		if f.Key == "Vnflcm" || b.topo.types.Is(grammar.InterfaceTypes, f.Value.Get("type").Str(), typeVnflcmInterface) {
			found = f.Value.Present()
			break
		}
	}
	if operations := found.Get("operations"); operations != nil {
		return operations
	}
	if found.Has("type") || found.Has("inputs") || found.Has("notifications") {
		own := *found
		own.Fields = nil
		for _, f := range found.Fields {
			if f.Key != "type" && f.Key != "inputs" && f.Key != "notifications" {
				own.Fields = append(own.Fields, f)
			}
		}
		return &own
	}
	return found
}

// implementation returns the name of the driver of an operation in any notation:
// "op: name", "op: {implementation: name}", "op: {implementation: {primary:
// name}}". Nothing, null and [] mean that there is none.
func implementation(operation *yamltree.Node) *yamltree.Node {
	if operation.Str() != "" {
		return operation
	}
	i := operation.Get("implementation")
	if primary := i.Get("primary"); primary != nil {
		return primary
	}
	return i
}
