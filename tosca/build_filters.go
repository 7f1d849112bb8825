package tosca

// buildNodeFilters reads the node filters of requirements without a target (TOSCA 1.3 3.8.2).
func (b *flavourBuilder) buildNodeFilters() {
	for _, n := range b.topo.templates {
		b := b.at(n)
		for _, r := range b.topo.requirements(n) {
			if r.filter != nil {
				b.NodeFilters = append(b.NodeFilters, NodeFilter{Node: n.id, Requirement: r.name, Filter: b.value(r.filter), Pos: r.filter.Pos})
			}
		}
	}
}

func (b *flavourBuilder) buildIndicators() {
	for _, p := range b.topo.policies(typeIndicator) {
		b.Indicators = append(b.Indicators, Indicator{ID: p.id, Source: b.text(p.properties.Get("source")), Triggers: b.triggers(p), Pos: p.pos})
	}
	sortByID(b.Indicators, func(i Indicator) string { return i.ID })
}
