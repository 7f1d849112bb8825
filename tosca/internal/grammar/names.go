package grammar

import "strings"

// nfvPrefix and toscaPrefix begin the qualified names of the types of SOL001 and of the TOSCA Simple Profile.
const toscaPrefix, nfvPrefix = "tosca:", "toscanfv:"

// sections maps kinds to the second part of the names of OASIS's and ETSI's types.
var sections = func() map[Kind]string {
	names := map[Kind]string{}
	for name, kind := range kindNames {
		names[kind] = name
	}
	return names
}()

// shorthand returns the normative type with a short name, such as BlockStorage or Vdu.Compute, or with a qualified one, such as
// tosca:BlockStorage or toscanfv:Vdu.Compute (TOSCA Simple Profile 1.3 chapter 5, SOL001 chapter 6). It returns nil for other names.
func (t Types) shorthand(kind Kind, name string) *Type {
	known := t.short[kind]
	if known == nil {
		known = map[string]*Type{}
		for full, d := range t.byName[kind] {
			t.addShorthands(known, kind, full, d)
		}
		t.short[kind] = known
	}
	return known[name]
}

func (t Types) addShorthands(known map[string]*Type, kind Kind, full string, d *Type) {
	rest, normative := strings.CutPrefix(full, "tosca."+sections[kind]+".")
	if !normative {
		return
	}
	if short, isNFV := strings.CutPrefix(rest, "nfv."); isNFV {
		known[nfvPrefix+short] = d
		if other := known[short]; other == nil {
			known[short] = d
		}
		return
	}
	// The short name of tosca.nodes.Storage.BlockStorage is BlockStorage, that of tosca.capabilities.Endpoint.Public is Endpoint.Public.
	for found := true; found; _, rest, found = strings.Cut(rest, ".") {
		for _, short := range []string{rest, toscaPrefix + rest} {
			if other := known[short]; other == nil || strings.HasPrefix(other.Name, "tosca."+sections[kind]+".nfv.") || simpler(full, other.Name) {
				known[short] = d
			}
		}
	}
}

// simpler reports whether the first of two types has the shared short name: tosca.nodes.Compute, not tosca.nodes.Abstract.Compute.
func simpler(a, b string) bool { return len(a) < len(b) || len(a) == len(b) && a < b }
