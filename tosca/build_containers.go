package tosca

import (
	"cmp"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

func (b *flavourBuilder) containerVDU(n template) VDU {
	v := b.vdu(n)
	v.Kind = ContainerVDU
	v.Containers = b.targets(n, "container")
	id := b.topo.property(n, "mcio_identification_data")
	v.MCIO = MCIO{
		Name:        b.text(id.Get("name")),
		Type:        b.text(id.Get("type")),
		Constraints: b.texts(b.topo.property(n, "mcio_constraint_params")),
	}
	return v
}

func (b *flavourBuilder) buildContainers() {
	for _, n := range b.topo.of(typeContainer) {
		b := b.at(n)
		c := Container{
			ID:                        n.id,
			Name:                      b.text(b.topo.property(n, "name")),
			Description:               b.text(b.topo.property(n, "description")),
			RequestedCPU:              b.count(b.topo.property(n, "requested_cpu_resources"), 0),
			CPULimit:                  b.count(b.topo.property(n, "cpu_resource_limit"), 0),
			RequestedMemory:           b.bytes(b.topo.property(n, "requested_memory_resources")),
			MemoryLimit:               b.bytes(b.topo.property(n, "memory_resource_limit")),
			RequestedEphemeralStorage: b.bytes(b.topo.property(n, "requested_ephemeral_storage_resources")),
			EphemeralStorageLimit:     b.bytes(b.topo.property(n, "ephemeral_storage_resource_limit")),
			Image:                     b.image(n),
			Artifacts:                 b.artifacts(n),
			Pos:                       n.pos,
		}
		for _, item := range b.items(b.topo.property(n, "extended_resource_requests")) {
			item = b.eval(item)
			c.Extended = append(c.Extended, ExtendedResource{b.textMap(item.Get("extended_resource")), b.count(item.Get("amount"), 0)})
		}
		for _, item := range b.items(b.topo.property(n, "huge_pages_resources")) {
			item = b.eval(item)
			c.HugePages = append(c.HugePages, HugePages{b.bytes(item.Get("hugepage_size")), b.bytes(item.Get("requested_size"))})
		}
		b.Containers = append(b.Containers, c)
	}
}

// buildMCIOPs reads the Mciop nodes. A VDU without an MCIOP is valid: SOL001 allows a VNFM to create its object from
// another source.
func (b *flavourBuilder) buildMCIOPs() {
	for _, n := range b.topo.of(typeMCIOP) {
		b := b.at(n)
		p := MCIOP{ID: n.id, VDUs: b.targets(n, "associatedVdu"), DependsOn: b.dependencies(n), Artifacts: b.artifacts(n), Pos: n.pos}
		slices.Sort(p.VDUs)
		p.Chart = b.chart(p)
		for _, id := range p.VDUs {
			if b.VDU(id) == nil {
				b.report.Errorf(n.pos, problem.UnknownNode, "the MCIOP %s is associated with %q, which is no VDU", n.id, id)
			}
		}
		b.MCIOPs = append(b.MCIOPs, p)
	}
	b.orderMCIOPs()
	b.checkImages()
}

// checkImages warns about containers without an image. The images of VDUs with an MCIOP are in its chart.
func (b *flavourBuilder) checkImages() {
	ofCharts := map[string]bool{}
	for _, p := range b.MCIOPs {
		for _, id := range p.VDUs {
			if v := b.VDU(id); v != nil {
				for _, c := range v.Containers {
					ofCharts[c] = true
				}
			}
		}
	}
	for _, c := range b.Containers {
		if c.Image == nil && !ofCharts[c.ID] {
			b.report.Warnf(c.Pos, problem.MissingArtifact, "the container %s has no image", c.ID)
		}
	}
}

// chart returns the first Helm chart among the artifacts of an MCIOP, "" without one.
func (b *flavourBuilder) chart(p MCIOP) string {
	var keys []string
	for _, key := range sortedKeys(p.Artifacts) {
		if b.topo.types.Is(grammar.ArtifactTypes, p.Artifacts[key].Type, typeHelmChart) {
			keys = append(keys, key)
		}
	}
	switch len(keys) {
	case 0:
		b.report.Warnf(p.Pos, problem.MissingArtifact, "the MCIOP %s has no artifact of type %s", p.ID, typeHelmChart)
		return ""
	case 1:
	default:
		b.report.Warnf(p.Artifacts[keys[1]].Pos, problem.SeveralCharts, "the MCIOP %s has several charts, of which only %s is deployed", p.ID, keys[0])
	}
	return p.Artifacts[keys[0]].File
}

// dependencies lists the MCIOPs that a template depends on. A dependency on another node is no order of deployment.
func (b *flavourBuilder) dependencies(n template) []string {
	return slices.DeleteFunc(b.targets(n, "dependency"), func(id string) bool {
		return !b.topo.types.Is(grammar.NodeTypes, b.topo.byID[id].kind, typeMCIOP)
	})
}

// orderMCIOPs sorts the MCIOPs by their place in the descriptor, and each one after those that it depends on.
func (b *flavourBuilder) orderMCIOPs() {
	left := b.MCIOPs
	slices.SortStableFunc(left, func(x, y MCIOP) int { return cmp.Or(x.Pos.Line-y.Pos.Line, x.Pos.Column-y.Pos.Column) })
	b.MCIOPs = nil
	deployed := func(id string) bool { return slices.ContainsFunc(b.MCIOPs, func(p MCIOP) bool { return p.ID == id }) }
	for len(left) > 0 {
		next := slices.IndexFunc(left, func(p MCIOP) bool {
			return !slices.ContainsFunc(p.DependsOn, func(id string) bool { return !deployed(id) })
		})
		if next < 0 {
			b.report.Errorf(left[0].Pos, problem.DependencyCycle, "the MCIOP %s depends on itself, through %q", left[0].ID, left[0].DependsOn)
			next = 0
		}
		b.MCIOPs = append(b.MCIOPs, left[next])
		left = slices.Delete(slices.Clone(left), next, next+1)
	}
}
