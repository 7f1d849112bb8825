package tosca

import (
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
)

// buildPackageChanges reads the VnfPackageChange policies of all topologies. The flavours must have been read.
func (b *builder) buildPackageChanges(d *VNFD) {
	for _, t := range b.all {
		v := valuesOf(t)
		for _, p := range t.policies(typePackageChange) {
			c := v.packageChange(p)
			c.Operation = d.changeOperation(c)
			d.Changes = append(d.Changes, c)
		}
	}
	sortByID(d.Changes, func(c PackageChange) string { return c.ID })
}

func (v values) packageChange(p policy) PackageChange {
	c := PackageChange{
		ID:                   p.id,
		Qualifier:            v.text(p.properties.Get("modification_qualifier")),
		Description:          v.text(p.properties.Get("additional_modification_description")),
		DestinationFlavourID: v.text(p.properties.Get("destination_flavour_id")),
		Actions:              v.texts(p.properties.Get("actions")),
		ReferencedActions:    v.texts(p.properties.Get("referenced_coordination_actions")),
		Triggers:             v.triggers(p),
		Pos:                  p.pos,
	}
	selectors := v.eval(p.properties.Get("selector"))
	if selectors.Is(yamltree.Mapping) { // before SOL001 v4.2.1
		selectors = &yamltree.Node{Kind: yamltree.Sequence, Items: []*yamltree.Node{selectors}}
	}
	for _, s := range v.items(selectors) {
		s = v.eval(s)
		c.Selectors = append(c.Selectors, PackageChangeSelector{
			SourceID:        v.text(s.Get("source_descriptor_id")),
			DestinationID:   v.text(s.Get("destination_descriptor_id")),
			SourceFlavourID: v.text(s.Get("source_flavour_id")),
			Pos:             s.At(),
		})
	}
	for _, m := range v.items(p.properties.Get("component_mappings")) {
		m = v.eval(m)
		c.Mappings = append(c.Mappings, ComponentMapping{
			Type:          ComponentType(v.text(m.Get("component_type"))),
			SourceID:      v.text(m.Get("source_id")),
			DestinationID: v.text(m.Get("destination_id")),
			Description:   v.text(m.Get("description")),
			Pos:           m.At(),
		})
	}
	return c
}

// changeOperation returns the operation of a ChangeCurrentVnfPackage interface that the triggers of the policy call. The action names it
// as interface.operation.
func (d *VNFD) changeOperation(c PackageChange) string {
	for _, name := range sortedKeys(c.Triggers) {
		for _, a := range c.Triggers[name].Actions {
			operation := a.Name[strings.LastIndex(a.Name, ".")+1:]
			isOwn := slices.ContainsFunc(d.Flavours, func(f Flavour) bool { _, own := f.ChangeOperations[operation]; return own })
			if a.Kind == "call_operation" && isOwn {
				return operation
			}
		}
	}
	return ""
}
