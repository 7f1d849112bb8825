package grammar

import (
	"regexp"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

var rollbackHook = regexp.MustCompile(`^[a-z_]+_rollback(_start|_end)?$`)

// operationsOf returns the operations and notifications of an interface. In TOSCA 1.3 they are below the keynames operations
// and notifications, in earlier versions beside the other keynames.
func operationsOf(n *yamltree.Node) []yamltree.Field {
	list := append(n.Get("operations").Map(), n.Get("notifications").Map()...)
	for _, f := range n.Map() {
		if !slices.Contains(interfaceKeys, f.Key) {
			list = append(list, f)
		}
	}
	return list
}

// interfaceType checks the definition of an interface type (3.7.5).
func (v *validator) interfaceType(def *yamltree.Node) {
	if !v.mapping(def, "an interface type") {
		return
	}
	v.propertyDefinitions(def.Get("inputs"), parameterDefinition)
	for _, f := range operationsOf(def) {
		v.operation(nil, f)
	}
}

// interfaceDefinitions checks the interfaces of a node, relationship or group
// type.
func (v *validator) interfaceDefinitions(section *yamltree.Node) {
	for _, f := range section.Map() {
		if !v.spend(1) {
			return
		}
		if f.Value.Present() != nil && f.Value.Kind == yamltree.Scalar { // short notation
			v.typeNamed(InterfaceTypes, f.Value)
			continue
		}
		d := v.typeNamed(InterfaceTypes, f.Value.Get("type"))
		v.operations(nil, f.Value, d, nil)
	}
}

// interfaces checks the interfaces of a template against its type.
func (v *validator) interfaces(s *scope, section *yamltree.Node, d *Type) {
	if !v.mapping(section, "interfaces") {
		return
	}
	for _, f := range section.Map() {
		if !v.spend(1) {
			return
		}
		def, known := d.member("interfaces", f.Key)
		typeName := f.Value.Get("type")
		if typeName == nil {
			typeName = def.Value.Get("type")
		}
		if def.Value.Str() != "" {
			typeName = def.Value
		}
		if !known && d != nil && typeName == nil {
			v.unknown(f.Pos, problem.UnknownInterface, d.Name+" has no interface", f.Key, v.namesIn(d, "interfaces"))
			continue
		}
		v.operations(s, f.Value, v.typeNamed(InterfaceTypes, typeName), def.Value)
	}
}

// operations checks the operations of an interface against its type and, in a template, against the operations that the
// template's type adds.
func (v *validator) operations(s *scope, n *yamltree.Node, d *Type, def *yamltree.Node) {
	if !v.mapping(n, "an interface") {
		return
	}
	v.inputs(s, n.Get("inputs"))
	for _, f := range operationsOf(n) {
		if !v.spend(1) {
			return
		}
		if s != nil && d != nil && !v.hasOperation(d, f.Key) && !hasOwn(def, f.Key) {
			p := v.unknownName(f.Pos, problem.UnknownOperation, d.Name+" has no operation", f.Key, v.operationNames(d))
			if rollbackHook.MatchString(f.Key) {
				v.deviation(problem.RollbackHooks, p)
			} else {
				v.add(p)
			}
		}
		v.operation(s, f)
	}
}

func (v *validator) hasOperation(d *Type, name string) bool {
	for ; d != nil; d = d.Parent {
		if hasOwn(d.Node, name) {
			return true
		}
	}
	return false
}

func hasOwn(n *yamltree.Node, operation string) bool {
	return n.Get("operations").Has(operation) || n.Get("notifications").Has(operation) ||
		n.Has(operation) && !slices.Contains(interfaceKeys, operation)
}

func (v *validator) operationNames(d *Type) []string {
	var names []string
	for ; d != nil; d = d.Parent {
		for _, f := range operationsOf(d.Node) {
			v.spend(1)
			names = append(names, f.Key)
		}
	}
	return names
}

// operation checks an operation in the short notation (the name of an implementation) or in the long notation. Null and an
// empty list mean that the operation has no implementation.
func (v *validator) operation(s *scope, f yamltree.Field) {
	n := f.Value.Present()
	if n == nil || n.Kind == yamltree.Scalar || n.Kind == yamltree.Sequence && len(n.Items) == 0 {
		return
	}
	if !v.keys(n, operationDefinition) {
		return
	}
	v.inputs(s, n.Get("inputs"))
	if i := n.Get("implementation"); i != nil && i.Kind == yamltree.Mapping {
		v.keys(i, implementationOf)
	}
}

// inputs checks the inputs of an operation: definitions in a type, where s is nil, and values in a template.
func (v *validator) inputs(s *scope, section *yamltree.Node) {
	if s == nil {
		v.propertyDefinitions(section, parameterDefinition)
		return
	}
	for _, f := range section.Map() {
		v.value(s, f.Value, nil)
	}
}

// artifacts checks artifact definitions (3.6.7).
func (v *validator) artifacts(s *scope, section *yamltree.Node) {
	for _, f := range section.Named() {
		if !v.spend(1) {
			return
		}
		if f.Value.Present() == nil || f.Value.Kind == yamltree.Scalar { // short notation: only the file
			continue
		}
		if !v.keys(f.Value, artifactDefinition) {
			continue
		}
		d := v.typeNamed(ArtifactTypes, f.Value.Get("type"))
		v.properties(s, f.Value.Get("properties"), d, "properties", nil)
		if s != nil && d != nil {
			v.required(f.Value, d, nil, f.Pos, "the artifact "+f.Key)
		}
	}
}
