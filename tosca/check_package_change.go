package tosca

import (
	"slices"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// checkPackageChanges reports policies for a change of the package that contradict the VNFD. The other VNFD of a change is not known.
func (b *builder) checkPackageChanges(v *VNFD) {
	known := map[PackageChangeSelector]string{}
	for i := range v.Changes {
		c := &v.Changes[i]
		for _, s := range c.Selectors {
			b.checkSelector(v, c, s)
			pair := PackageChangeSelector{SourceID: s.SourceID, DestinationID: s.DestinationID, SourceFlavourID: s.SourceFlavourID}
			if first, twice := known[pair]; twice {
				b.report.Errorf(s.Pos, problem.PackageChange, "the policy %s is for the same change: from the flavour %s of %s to %s", first, s.SourceFlavourID, s.SourceID, s.DestinationID)
			}
			known[pair] = c.ID
		}
		b.checkActions(v, c.Actions, c.Pos)
	}
	for _, f := range v.Flavours {
		for _, operation := range sortedKeys(f.Coordinations) {
			b.checkActions(v, f.Coordinations[operation].Actions, f.Coordinations[operation].Pos)
		}
	}
}

// checkSelector checks the side of a change that is this VNFD.
func (b *builder) checkSelector(v *VNFD, c *PackageChange, s PackageChangeSelector) {
	if s.SourceID != v.ID && s.DestinationID != v.ID {
		b.report.Warnf(s.Pos, problem.PackageChange, "the policy %s is for a change from %s to %s, not for this VNFD", c.ID, s.SourceID, s.DestinationID)
	}
	if s.SourceID == v.ID {
		b.checkComponents(v, s.SourceFlavourID, s.Pos, c.Mappings, func(m ComponentMapping) string { return m.SourceID })
	}
	if s.DestinationID == v.ID {
		b.checkComponents(v, c.DestinationFlavourID, c.Pos, c.Mappings, func(m ComponentMapping) string { return m.DestinationID })
	}
}

// checkComponents checks that this VNFD has the flavour, and that the flavour has the components on one side of the mappings.
func (b *builder) checkComponents(v *VNFD, flavourID string, pos problem.Position, mappings []ComponentMapping, id func(ComponentMapping) string) {
	f, err := v.Flavour(flavourID)
	if err != nil {
		b.report.Errorf(pos, problem.PackageChange, "there is no flavour %q", flavourID)
		return
	}
	for _, m := range mappings {
		if !f.hasComponent(m.Type, id(m)) {
			b.report.Errorf(m.Pos, problem.PackageChange, "the flavour %s has no %s %q", f.ID, m.Type, id(m))
		}
	}
}

// hasComponent reports whether a component exists. It returns true for flavours and for unknown kinds of components.
func (f *Flavour) hasComponent(kind ComponentType, id string) bool {
	switch kind {
	case MappedVDU:
		return f.VDU(id) != nil
	case MappedLevel:
		return f.level(id) != nil
	case MappedAspect:
		return f.aspect(id) != nil
	case MappedCP, MappedVirtualLink, MappedStorage:
		return slices.ContainsFunc(f.Nodes, func(n NodeTemplate) bool { return n.ID == id })
	}
	return true
}

// checkActions reports names of coordination actions that this VNFD does not define.
func (b *builder) checkActions(v *VNFD, actions []string, pos problem.Position) {
	var known []string
	for _, f := range v.Flavours {
		for _, a := range f.CoordinationActions {
			known = append(known, a.Name)
		}
	}
	for _, action := range actions {
		if !slices.Contains(known, action) {
			b.report.Add(problem.Problem{
				Position: pos, Code: problem.UnknownAction,
				Message: "there is no coordination action \"" + action + "\"", Nearest: problem.Nearest(action, known),
			})
		}
	}
}
