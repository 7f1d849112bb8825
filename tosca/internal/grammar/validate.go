package grammar

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/vnfkit/vnfkit/tosca/internal/documents"
	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/internal/yamltree"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// maxSteps limits the work on a descriptor. Packages in the field need some two thousand steps, less than one for each YAML
// node.
const maxSteps = 3_000_000

// validator checks the documents of a package against grammar and types.
type validator struct {
	types    Types
	allowed  map[problem.Quirk]bool
	report   *report.Report
	steps    int
	patterns map[string]*regexp.Regexp // compiled patterns; nil for a pattern that is not checked
	// ofIdentifier is set while the value of an identifier of a VNF is checked, inVNFType while the properties of a VNF's type are.
	ofIdentifier, inVNFType bool
	// imageElsewhere is set while the properties of a node template without an image in the package are checked.
	imageElsewhere bool
	// unimported are the types that were reported as not imported.
	unimported map[string]bool
}

// Validate reports each violation of the grammar and of the types in the documents of the package. Deviations that one of
// quirks names are warnings.
func Validate(set *documents.Set, types Types, quirks []problem.Quirk, r *report.Report) {
	v := &validator{
		types:      types,
		report:     r,
		allowed:    map[problem.Quirk]bool{},
		steps:      maxSteps,
		patterns:   map[string]*regexp.Regexp{},
		unimported: map[string]bool{},
	}
	for _, q := range quirks {
		v.allowed[q] = true
	}
	for _, d := range set.All {
		if !d.Bundled {
			v.document(d)
		}
	}
	r.Merge(set.Misfits)
	if v.steps <= 0 {
		r.Errorf(problem.Position{File: set.Entry().File}, problem.TooLarge, "the descriptor is too complex to be checked")
	}
}

func (v *validator) document(d documents.Document) {
	v.serviceTemplate(d.Root)
	v.imports(d.Root.Get("imports"))
	for _, kind := range kinds {
		v.typeDefinitions(kind, d.Root.Get(string(kind)))
	}
	if t := d.Root.Get("topology_template"); t != nil {
		v.topology(t, d.Root)
	}
}

// misplaced are the sections of a topology that some packages put at the top level of the document.
var misplaced = []string{"groups", "policies"}

func (v *validator) serviceTemplate(root *yamltree.Node) {
	known := serviceTemplate
	for _, section := range misplaced {
		if n := root.Get(section); n != nil {
			known.keys = append(slices.Clone(known.keys), section)
			v.deviation(problem.MisplacedSections, problem.Problem{
				Position: n.Pos, Code: problem.Misplaced,
				Message: section + " belong into the topology_template",
			})
		}
	}
	v.keys(root, known)
}

// spend counts work. It returns false if the limit is exceeded, or if the report is full.
func (v *validator) spend(steps int) bool {
	v.steps -= steps
	return v.steps > 0 && !v.report.Full()
}

func (v *validator) add(p problem.Problem) { v.report.Add(p) }

func (v *validator) errorf(pos problem.Position, code problem.Code, format string, args ...any) {
	v.add(problem.Problem{Position: pos, Code: code, Message: fmt.Sprintf(format, args...)})
}

// deviation reports a deviation: as a warning if its quirk is allowed, as an error otherwise.
func (v *validator) deviation(q problem.Quirk, p problem.Problem) {
	p.Quirk = q
	if v.allowed[q] {
		p.Severity = problem.Warning
	}
	v.add(p)
}

func (v *validator) imports(section *yamltree.Node) {
	if !section.Is(yamltree.Sequence) {
		return
	}
	for _, item := range section.Items {
		if item.Has("file") {
			v.keys(item, importDefinition)
			continue
		}
		if !item.Is(yamltree.Mapping) {
			continue
		}
		for _, f := range item.Fields {
			if f.Value.Is(yamltree.Mapping) {
				v.keys(f.Value, importDefinition)
			}
		}
	}
}

// typeNamed returns the type that a node names. It reports an unknown type and, subject to a quirk, a type that the document
// does not import. It returns nil for a node that is absent.
func (v *validator) typeNamed(kind Kind, n *yamltree.Node) *Type {
	if n.Present() == nil {
		return nil
	}
	if n.Kind != yamltree.Scalar {
		v.errorf(n.Pos, problem.Type, "this must be the name of a type")
		return nil
	}
	d := v.types.Lookup(kind, n.Text)
	switch {
	case d == nil:
		v.unknownType(kind, n)
	case d.Implicit && !v.unimported[n.Text]:
		v.unimported[n.Text] = true
		v.deviation(problem.UnimportedTypes, problem.Problem{
			Position: n.Pos, Code: problem.UnknownType,
			Message:  "the type " + n.Text + " is not imported",
			Expected: "an import of the SOL001 type definitions, which are bundled",
		})
	}
	return d
}

func (v *validator) unknownType(kind Kind, n *yamltree.Node) {
	var known []string
	for name := range v.types.byName[kind] {
		v.spend(1)
		known = append(known, name)
	}
	p := problem.Problem{
		Position: n.Pos, Code: problem.UnknownType,
		Message: fmt.Sprintf("there is no type %q among the %s", n.Text, kind),
		Nearest: problem.Nearest(n.Text, known),
	}
	if replacement := earlyTypes[n.Text]; replacement != "" && kind == NodeTypes {
		p.Message = n.Text + " is a type of the NFV profile of OASIS, which early Tacker used; write the descriptor with the types of SOL001"
		p.Nearest = replacement
	}
	v.add(p)
}

// earlyTypes maps node types of the NFV profile of OASIS, and those that Tacker added, to the types of SOL001 that replace them.
var earlyTypes = map[string]string{
	"tosca.nodes.nfv.VDU":        "tosca.nodes.nfv.Vdu.Compute",
	"tosca.nodes.nfv.VDU.Tacker": "tosca.nodes.nfv.Vdu.Compute",
	"tosca.nodes.nfv.CP":         "tosca.nodes.nfv.VduCp",
	"tosca.nodes.nfv.CP.Tacker":  "tosca.nodes.nfv.VduCp",
	"tosca.nodes.nfv.VL":         "tosca.nodes.nfv.VnfVirtualLink",
	"tosca.nodes.nfv.VL.ELAN":    "tosca.nodes.nfv.VnfVirtualLink",
}

// typeOf returns the type of a template. It reports a missing type as well.
func (v *validator) typeOf(kind Kind, f yamltree.Field, what construct) *Type {
	n := f.Value.Get("type")
	if n == nil {
		v.errorf(f.Pos, problem.MissingKeyname, "%s needs a type, %s has none", what.name, f.Key)
	}
	return v.typeNamed(kind, n)
}
