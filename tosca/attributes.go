package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// ConfigurableProperties are the VnfConfigurableProperties of the VNF.
type ConfigurableProperties struct {
	// AutoscaleEnabled and AutohealEnabled are the initial values of isAutoscaleEnabled and isAutohealEnabled. They are nil
	// if the descriptor does not let requests configure them.
	AutoscaleEnabled, AutohealEnabled *bool
	// Additional are the attributes that the descriptor adds (additional_configurable_properties), sorted by name.
	Additional []Attribute
}

// ModifiableAttributes are the attributes that the descriptor adds to the VNF instance (VnfInfoModifiableAttributes), sorted by
// name.
type ModifiableAttributes struct {
	Extensions, Metadata []Attribute
}

// Attribute is an attribute that a request can set.
type Attribute struct {
	Name string
	// Type is the TOSCA type of the attribute, for example "string".
	Type string
	// Base is the primitive type that Type is or is derived from, "" for a type with attributes.
	Base string
	// Attributes are the attributes of a type that has some. Entry is the type of the entries of a list or map, without a name; nil if
	// the descriptor does not state it.
	Attributes  []Attribute
	Entry       *Attribute
	Description string
	// Required is set if a request has to set the attribute. A Default fulfils the requirement too.
	Required bool
	// Default is the value if no request sets one: the value that the VNF node gives, else the default of the type. It is
	// a text, a number, a boolean, a list or a mapping, or nil without a default.
	Default any
	// Pos is the position of the attribute's definition.
	Pos problem.Position
}
