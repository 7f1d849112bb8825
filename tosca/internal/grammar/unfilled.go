package grammar

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// ofSOL001 is the prefix of the node types of SOL001.
const ofSOL001 = "tosca.nodes.nfv."

// unfilled warns about requirements that a type of SOL001 demands and that neither the template nor another part of the
// topology fills. TOSCA allows an orchestrator to find their targets; a VNFM does not.
func (v *validator) unfilled(s *scope, f yamltree.Field, d *Type) {
	for a := d; a != nil; a = a.Parent {
		if !strings.HasPrefix(a.Name, ofSOL001) {
			continue
		}
		for _, r := range a.Node.Get("requirements").Named() {
			if !v.spend(1) {
				return
			}
			nearest, _ := d.member("requirements", r.Key)
			_, assigned := named(f.Value.Get("requirements"), r.Key)
			if nearest.Pos != r.Pos || !demanded(r.Value) || assigned || s.filled[[2]string{f.Key, r.Key}] {
				continue
			}
			v.add(problem.Problem{
				Position: f.Pos, Severity: problem.Warning, Code: problem.UnfilledRequirement,
				Message: fmt.Sprintf("nothing fills the requirement %q of %s, which %s demands", r.Key, f.Key, a.Name),
			})
		}
	}
}

// demanded reports whether a requirement must be assigned at least once, which is the default.
func demanded(def *yamltree.Node) bool {
	lower, _, ok := bounds(def.Get("occurrences"))
	return !ok || lower > 0
}

// filledBeside returns the pairs [node template, requirement] that a topology fills outside the template: substitution mappings map the
// requirement, or an MCIOP describes the containers of a deployable unit.
func (v *validator) filledBeside(t *yamltree.Node) map[[2]string]bool {
	pairs := map[[2]string]bool{}
	for _, f := range t.Get("node_templates").Map() {
		for _, r := range f.Value.Get("requirements").Named() {
			if r.Key == "associatedVdu" && v.spend(1) {
				pairs[[2]string{cmp.Or(r.Value.Get("node").Str(), r.Value.Str()), "container"}] = true
			}
		}
	}
	var add func(n *yamltree.Node)
	add = func(n *yamltree.Node) {
		if long := n.Get("mapping"); long != nil {
			n = long
		}
		if !n.Is(yamltree.Sequence) || !v.spend(1) {
			return
		}
		if items := n.Items; len(items) == 2 && items[0].Kind == yamltree.Scalar {
			pairs[[2]string{items[0].Text, items[1].Str()}] = true
			return
		}
		for _, item := range n.Items {
			add(item)
		}
	}
	for _, f := range t.Path("substitution_mappings", "requirements").Named() {
		add(f.Value)
	}
	return pairs
}
