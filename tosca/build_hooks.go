package tosca

import (
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// buildHooks reads the Vnflcm interface and the artifacts of the VNF node. If the node of the flavour has no interfaces, those of
// the entry file's VNF node apply.
func (b *flavourBuilder) buildHooks() {
	n := b.vnf
	if n.node.Get("interfaces") == nil {
		if entry, ok := b.builder.entry.vnf(); ok && entry.node.Get("interfaces") != nil {
			n = entry
		}
	}
	b.Hooks, b.Drivers, b.Artifacts = map[string]Hook{}, map[string]Artifact{}, map[string]Artifact{}
	for key, a := range b.artifacts(n) {
		if b.topo.types.Is(grammar.ArtifactTypes, a.Type, typeImplementation) {
			b.Drivers[key] = a
		} else {
			b.Artifacts[key] = a
		}
	}
	operations := b.vnflcm(n)
	for _, name := range slices.Sorted(maps.Keys(operations)) {
		if o := operations[name]; o.driver.Str() != "" {
			b.hook(name, o)
		}
	}
	for _, a := range b.Drivers {
		if _, err := b.builder.pkg.Artifact(a.File); err != nil {
			b.report.Warnf(a.Pos, problem.MissingFile, "the file %q of the driver is not in the package", a.File)
		}
	}
}

// hook records the driver of a hook: the artifact, of any type, that the interface names, or a file of the package that is not
// declared as an artifact (TOSCA 1.3 3.6.16).
func (b *flavourBuilder) hook(name string, o *operation) {
	key := o.driver.Str()
	if a, ok := b.Artifacts[key]; ok {
		b.Drivers[key] = a
		delete(b.Artifacts, key)
	}
	if _, err := b.builder.pkg.Artifact(key); err == nil && b.Drivers[key].File == "" {
		b.Drivers[key] = Artifact{File: key, Pos: o.driver.Pos}
	}
	if _, ok := b.Drivers[key]; !ok {
		b.report.Errorf(o.driver.Pos, problem.UnknownDriver, "the hook %s names the driver %q, which is no artifact of the VNF node and no file of the package", name, key)
		return
	}
	b.Hooks[name] = Hook{Driver: key, Inputs: o.inputs, Pos: o.pos}
}

// operation is an operation of the Vnflcm interface, merged from the node template and its types.
type operation struct {
	pos    problem.Position
	driver *yamltree.Node
	known  bool // the definition states a driver, possibly an empty one
	inputs map[string]any
}

// vnflcm returns the operations of the Vnflcm interface. Properties of an operation that the template does not state come from
// its type, then from the ancestors of the type.
func (b *flavourBuilder) vnflcm(n template) map[string]*operation {
	found := map[string]*operation{}
	sources := []*yamltree.Node{n.node}
	for d := b.topo.types.Lookup(grammar.NodeTypes, n.kind); d != nil; d = d.Parent {
		sources = append(sources, d.Node)
	}
	for i, source := range sources {
		for _, f := range source.Get("interfaces").Map() {
			if f.Key != "Vnflcm" && !b.topo.types.Is(grammar.InterfaceTypes, f.Value.Get("type").Str(), typeVnflcmInterface) {
				continue
			}
			for _, o := range operationsOf(f.Value) {
				if found[o.Key] == nil {
					found[o.Key] = &operation{pos: o.Pos}
				}
				b.addTo(found[o.Key], o.Value, i > 0)
				b.addInputs(found[o.Key], f.Value.Get("inputs"), i > 0)
			}
		}
	}
	return found
}

// addTo adds the properties that an operation lacks from a definition in a type or an ancestor.
func (b *flavourBuilder) addTo(o *operation, definition *yamltree.Node, ofType bool) {
	if !o.known && (definition.Str() != "" || definition.Has("implementation")) {
		o.driver, o.known = implementation(definition), true
	}
	b.addInputs(o, definition.Get("inputs"), ofType)
}

// addInputs adds the inputs that an operation lacks. A template has values of inputs; a type has definitions, possibly with a
// default.
func (b *flavourBuilder) addInputs(o *operation, inputs *yamltree.Node, ofType bool) {
	for _, f := range inputs.Map() {
		value := f.Value.Present()
		if ofType || value.Has("type") && value.Has("default") { // some templates contain definitions instead of values
			value = value.Get("default")
		}
		if _, given := o.inputs[f.Key]; given || value == nil {
			continue
		}
		if o.inputs == nil {
			o.inputs = map[string]any{}
		}
		o.inputs[f.Key] = b.value(value)
	}
}

// operationsOf returns the operations of an interface. They are below the key "operations" (TOSCA 1.3) or, in the older notation,
// directly in the interface.
func operationsOf(n *yamltree.Node) []yamltree.Field {
	if operations := n.Get("operations"); operations != nil {
		return operations.Map()
	}
	var found []yamltree.Field
	if !n.Is(yamltree.Mapping) { // the name of an interface type
		return nil
	}
	for _, f := range n.Fields {
		switch f.Key {
		case "type", "description", "inputs", "operations", "notifications":
		default:
			found = append(found, f)
		}
	}
	return found
}

// implementation returns the name of the driver of an operation in any notation: "op: name", "op: {implementation: name}",
// "op: {implementation: {primary: name}}" and "op: {implementation: {primary: {file: name}}}". An absent value, null and [] mean
// that the operation has no driver.
func implementation(operation *yamltree.Node) *yamltree.Node {
	if operation.Str() != "" {
		return operation
	}
	i := operation.Get("implementation")
	for _, long := range []string{"primary", "file"} {
		if n := i.Get(long); n != nil {
			i = n
		}
	}
	return i
}
