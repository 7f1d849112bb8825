package tosca

import (
	"github.com/vnfkit/vnfkit/tosca/internal/grammar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// checkArtifacts warns of OS containers without exactly one software image, and of MCIOPs without exactly one chart (SOL001 v4.2.1
// clauses 6.8.12 and 6.8.14). The type definitions of ETSI do not state this.
func (b *flavourBuilder) checkArtifacts() {
	for _, c := range b.Containers {
		n := b.topo.byID[c.ID]
		switch images := b.artifactsOf(n, typeSwImage); {
		case images == 0 && c.Image == nil:
			b.report.Warnf(c.Pos, problem.ArtifactCount, "the container %s has no artifact of type %s, its image", c.ID, typeSwImage)
		case images > 1:
			b.report.Warnf(c.Pos, problem.ArtifactCount, "the container %s has %d artifacts of type %s: only the first is its image", c.ID, images, typeSwImage)
		}
	}
	for _, p := range b.MCIOPs {
		switch charts := b.artifactsOf(b.topo.byID[p.ID], typeHelmChart); {
		case charts == 0:
			b.report.Warnf(p.Pos, problem.ArtifactCount, "the MCIOP %s has no artifact of type %s, its chart", p.ID, typeHelmChart)
		case charts > 1:
			b.report.Warnf(p.Pos, problem.ArtifactCount, "the MCIOP %s has %d artifacts of type %s: only %s is deployed", p.ID, charts, typeHelmChart, p.Chart)
		}
	}
}

// artifactsOf returns the number of artifacts of a type that a template has or inherits.
func (b *flavourBuilder) artifactsOf(n template, base string) (count int) {
	for _, f := range b.topo.inherited(n, "artifacts") {
		if b.topo.types.Is(grammar.ArtifactTypes, f.Value.Get("type").Str(), base) {
			count++
		}
	}
	return count
}
