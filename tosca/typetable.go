package tosca

// Types of SOL001 v2.6.1 and of the TOSCA Simple Profile that are looked for.
// What a package defines is looked up by derivation from these, so the ETSI type
// files need not be there.
const (
	typeVNF             = "tosca.nodes.nfv.VNF"
	typeVDU             = "tosca.nodes.nfv.Vdu.Compute"
	typeVduCp           = "tosca.nodes.nfv.VduCp"
	typeExtCp           = "tosca.nodes.nfv.VnfExtCp"
	typeVirtualLink     = "tosca.nodes.nfv.VnfVirtualLink"
	typeBlockStorage    = "tosca.nodes.nfv.Vdu.VirtualBlockStorage"
	typeObjectStorage   = "tosca.nodes.nfv.Vdu.VirtualObjectStorage"
	typeFileStorage     = "tosca.nodes.nfv.Vdu.VirtualFileStorage"
	typeImplementation  = "tosca.artifacts.Implementation"
	typeSwImage         = "tosca.artifacts.nfv.SwImage"
	typeScalingAspects  = "tosca.policies.nfv.ScalingAspects"
	typeInitialDelta    = "tosca.policies.nfv.VduInitialDelta"
	typeAspectDeltas    = "tosca.policies.nfv.VduScalingAspectDeltas"
	typeLevels          = "tosca.policies.nfv.InstantiationLevels"
	typeVduLevels       = "tosca.policies.nfv.VduInstantiationLevels"
	typeAffinity        = "tosca.policies.nfv.AffinityRule"
	typeAntiAffinity    = "tosca.policies.nfv.AntiAffinityRule"
	typePlacementGroup  = "tosca.groups.nfv.PlacementGroup"
	typeVnflcmInterface = "tosca.interfaces.nfv.Vnflcm"
)

// typeKind is a section of a service template that defines types.
type typeKind string

const (
	nodeTypes      typeKind = "node_types"
	artifactTypes  typeKind = "artifact_types"
	policyTypes    typeKind = "policy_types"
	groupTypes     typeKind = "group_types"
	interfaceTypes typeKind = "interface_types"
)

var typeKinds = []typeKind{nodeTypes, artifactTypes, policyTypes, groupTypes, interfaceTypes}

// normative are derivations of the TOSCA Simple Profile that no package defines.
var normative = map[string]string{
	"tosca.artifacts.Implementation.Bash":   typeImplementation,
	"tosca.artifacts.Implementation.Python": typeImplementation,
}

// typeTable holds the type definitions of all documents by kind and name.
type typeTable map[typeKind]map[string]field

func newTypeTable(documents []document, r *report) typeTable {
	t := typeTable{}
	for _, kind := range typeKinds {
		t[kind] = map[string]field{}
		for _, d := range documents {
			for _, f := range d.root.get(string(kind)).mapping() {
				if _, known := t[kind][f.key]; !known {
					t[kind][f.key] = f
				}
			}
		}
		for name, f := range t[kind] {
			if t.cyclic(kind, name) {
				r.errorf(f.pos, CodeTypeCycle, "the type %s is derived from itself", name)
			}
		}
	}
	return t
}

func (t typeTable) parent(kind typeKind, name string) string {
	if parent := t[kind][name].value.get("derived_from").scalar(); parent != "" {
		return parent
	}
	return normative[name]
}

// cyclic reports whether the ancestors of a type lead back to it.
func (t typeTable) cyclic(kind typeKind, name string) bool {
	for _, ancestor := range t.lineage(kind, name)[1:] {
		if ancestor == name {
			return true
		}
	}
	return false
}

// lineage lists a type and its ancestors, nearest first. It ends where a cycle
// closes, with the type that closes it.
func (t typeTable) lineage(kind typeKind, name string) []string {
	var line []string
	seen := map[string]bool{}
	for ; name != ""; name = t.parent(kind, name) {
		line = append(line, name)
		if seen[name] {
			break
		}
		seen[name] = true
	}
	return line
}

// is reports whether a type is base or derived from it.
func (t typeTable) is(kind typeKind, name, base string) bool {
	if name == "" {
		return false
	}
	for _, ancestor := range t.lineage(kind, name) {
		if ancestor == base {
			return true
		}
	}
	return false
}

// property returns the definition of a property in the nearest type that has it.
func (t typeTable) property(kind typeKind, name, property string) *node {
	if name == "" {
		return nil
	}
	for _, ancestor := range t.lineage(kind, name) {
		if def := t[kind][ancestor].value.path("properties", property); def != nil {
			return def
		}
	}
	return nil
}

// validValues returns the valid_values constraint of a property definition.
func validValues(definition *node) []*node {
	for _, c := range definition.get("constraints").named() {
		if c.key == "valid_values" {
			return c.value.sequence()
		}
	}
	return nil
}

// defaultOf returns what a property has when a template does not set it: its
// default or, as descriptors often leave it, the only value it may have.
func defaultOf(definition *node) *node {
	if d := definition.get("default"); d != nil {
		return d
	}
	if values := validValues(definition); len(values) == 1 {
		return values[0].present()
	}
	return nil
}
