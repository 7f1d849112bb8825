package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// ConfigurableProperties are those of the VNF (VnfConfigurableProperties).
type ConfigurableProperties struct {
	// AutoscaleEnabled and AutohealEnabled say whether the VNFM scales and heals
	// on its own accord to begin with; nil when that cannot be configured.
	AutoscaleEnabled, AutohealEnabled *bool
	// Additional are the attributes that the descriptor adds
	// (additional_configurable_properties), sorted by name.
	Additional []Attribute
}

// ModifiableAttributes are the attributes of the VNF instance that the descriptor
// adds (VnfInfoModifiableAttributes), sorted by name.
type ModifiableAttributes struct {
	Extensions, Metadata []Attribute
}

// Attribute is something a request can set.
type Attribute struct {
	Name string
	// Type is its TOSCA type, such as "string".
	Type        string
	Description string
	// Required is set when a request has to give it unless it has a Default.
	Required bool
	// Default is what it has when no request sets it: the value the VNF node
	// gives, or the default of its type. It is a text, a number, a truth value, a
	// list or a mapping; nil when there is none.
	Default any
	// Pos is its definition.
	Pos problem.Position
}
