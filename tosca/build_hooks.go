package tosca

import (
	"cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// buildHooks reads the interfaces Vnflcm and ChangeCurrentVnfPackage and the artifacts of the VNF node. If the node of the flavour has no interfaces, those of
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
	operations := b.operations(n, typeVnflcmInterface)
	b.buildParameters(operations)
	for _, name := range sortedKeys(operations) {
		if o := operations[name]; o.driver.Str() != "" {
			b.hook(b.Hooks, name, o)
		}
	}
	b.buildChangeOperations(n)
}

// buildChangeOperations reads the operations of interfaces derived from ChangeCurrentVnfPackage, also those without a driver.
func (b *flavourBuilder) buildChangeOperations(n template) {
	operations := b.operations(n, typeChangeInterface)
	b.buildParameters(operations)
	for _, name := range sortedKeys(operations) {
		o := operations[name]
		if b.ChangeOperations == nil {
			b.ChangeOperations = map[string]Hook{}
		}
		b.ChangeOperations[name] = Hook{Inputs: o.inputs, Pos: o.pos}
		if o.driver.Str() != "" {
			b.hook(b.ChangeOperations, name, o)
		}
	}
}

// buildParameters reads the attributes of additional_parameters that operations declare.
func (b *flavourBuilder) buildParameters(operations map[string]*operation) {
	for _, name := range sortedKeys(operations) {
		declared := b.builder.attributes(b.values, b.builder.members(operations[name].parameters), maxTypeDepth)
		if declared == nil {
			continue
		}
		if b.AdditionalParameters == nil {
			b.AdditionalParameters = map[string][]Attribute{}
		}
		b.AdditionalParameters[name] = declared
	}
}

// hook records an operation and its driver: the artifact, of any type, that the interface names, or a file of the package that is not
// declared as an artifact (TOSCA 1.3 3.6.16).
func (b *flavourBuilder) hook(hooks map[string]Hook, name string, o *operation) {
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
	hooks[name] = Hook{Driver: key, Inputs: o.inputs, Pos: o.pos}
}

// operation is an operation of an interface, merged from the node template and its types.
type operation struct {
	pos    problem.Position
	driver *yamltree.Node
	known  bool // the definition states a driver, possibly an empty one
	inputs map[string]any
	// parameters is the type of the input additional_parameters, "" if no definition states it.
	parameters string
}

// operations returns the operations of the interfaces of a template that have the type base or a type derived from base. Properties of an
// operation that the template does not state come from its node type, then from the ancestors of the node type, then from the type of the
// interface.
func (b *flavourBuilder) operations(n template, base string) map[string]*operation {
	found := map[string]*operation{}
	sources := []*yamltree.Node{n.node}
	for d := b.topo.types.Lookup(grammar.NodeTypes, n.kind); d != nil; d = d.Parent {
		sources = append(sources, d.Node)
	}
	kinds := interfaceTypes(sources)
	add := func(n *yamltree.Node, ofType bool) {
		for _, o := range operationsOf(n) {
			if found[o.Key] == nil {
				found[o.Key] = &operation{pos: o.Pos}
			}
			b.addTo(found[o.Key], o.Value, ofType)
			b.addInputs(found[o.Key], n.Get("inputs"), ofType)
		}
	}
	for i, source := range sources {
		for _, f := range source.Get("interfaces").Map() {
			if b.topo.types.Is(grammar.InterfaceTypes, kinds[f.Key], base) {
				add(f.Value, i > 0)
			}
		}
	}
	for _, key := range sortedKeys(kinds) {
		if !b.topo.types.Is(grammar.InterfaceTypes, kinds[key], base) {
			continue
		}
		for d := b.topo.types.Lookup(grammar.InterfaceTypes, kinds[key]); d != nil; d = d.Parent {
			add(d.Node, true)
		}
	}
	return found
}

// interfaceTypes returns the types of interfaces by their names. sources are a template and the lineage of its type. An interface named
// Vnflcm without a type has the type of SOL001.
func interfaceTypes(sources []*yamltree.Node) map[string]string {
	kinds := map[string]string{}
	for _, source := range sources {
		for _, f := range source.Get("interfaces").Map() {
			kind := f.Value.Get("type")
			if f.Value.Is(yamltree.Scalar) { // short notation
				kind = f.Value
			}
			kinds[f.Key] = cmp.Or(kinds[f.Key], kind.Str())
		}
	}
	if kind, named := kinds["Vnflcm"]; named && kind == "" {
		kinds["Vnflcm"] = typeVnflcmInterface
	}
	return kinds
}

// addTo adds the properties that an operation lacks from a definition in a type or an ancestor.
func (b *flavourBuilder) addTo(o *operation, definition *yamltree.Node, ofType bool) {
	if !o.known && (definition.Str() != "" || definition.Has("implementation")) {
		o.driver, o.known = implementation(definition), true
	}
	b.addInputs(o, definition.Get("inputs"), ofType)
	if o.parameters == "" {
		o.parameters = definition.Path("inputs", "additional_parameters", "type").Str()
	}
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
		case "type", "derived_from", "version", "metadata", "description", "inputs", "operations", "notifications":
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
