package grammar

import "github.com/vnfkit/vnfkit/tosca/internal/yamltree"

const (
	typeImage     = "tosca.artifacts.nfv.SwImage"
	typeImageData = "tosca.datatypes.nfv.SwImageData"
)

// hasImage reports whether a node template or its type has the artifact of a software image. Without one, the VIM must have the image
// already. SOL001 requires the checksum of "the software image file", which such a package cannot know.
func (v *validator) hasImage(n *yamltree.Node, d *Type) bool {
	sections := []*yamltree.Node{n.Get("artifacts")}
	for ; d != nil; d = d.Parent {
		sections = append(sections, d.Node.Get("artifacts"))
	}
	for _, section := range sections {
		for _, f := range section.Named() {
			if v.spend(1) && v.types.Is(ArtifactTypes, f.Value.Get("type").Str(), typeImage) {
				return true
			}
		}
	}
	return false
}
