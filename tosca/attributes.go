package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// ConfigurableProperties are the VnfConfigurableProperties of the VNF.
type ConfigurableProperties struct {
	// AutoscaleEnabled and AutohealEnabled are the initial values of isAutoscaleEnabled and isAutohealEnabled; nil if
	// the descriptor does not let requests configure them.
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
	// Default is the value if no request sets one: the value that the VNF node gives, or the default of the type. It is
	// a text, a number, a truth value, a list or a mapping; nil if there is no default.
	Default any
	// Pos is the position of its definition.
	Pos problem.Position
}
