package tosca

// buildCoordinations reads the coordination actions and the LCM operations that need them.
func (b *flavourBuilder) buildCoordinations() {
	for _, p := range b.topo.policies(typeCoordination) {
		action := b.eval(p.properties.Get("action"))
		b.CoordinationActions = append(b.CoordinationActions, CoordinationAction{
			ID:          p.id,
			Name:        b.text(p.properties.Get("action_name")),
			Description: b.text(action.Get("description")),
			Endpoint:    b.text(action.Get("endpoint_type")),
			Stage:       b.text(action.Get("coordination_stage")),
			Inputs:      b.mapping(action.Get("input_parameters")),
			Outputs:     b.mapping(action.Get("output_parameters")),
			Pos:         p.pos,
		})
	}
	sortByID(b.CoordinationActions, func(a CoordinationAction) string { return a.ID })
	for _, p := range b.topo.policies(typeCoordinations) {
		if b.Coordinations == nil {
			b.Coordinations = map[string]Coordinations{}
		}
		operation := b.text(p.properties.Get("vnf_lcm_operation"))
		c := b.Coordinations[operation]
		c.Actions = append(c.Actions, b.texts(p.properties.Get("actions"))...)
		c.Referenced = append(c.Referenced, b.texts(p.properties.Get("referenced_coordination_actions"))...)
		c.Pos = p.pos
		b.Coordinations[operation] = c
	}
}
