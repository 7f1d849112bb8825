package tosca

import (
	"fmt"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// VNFD is a parsed VNF descriptor (SOL001 clause 6). A property whose value is an input without a default is the text of the
// expression, for example "{get_input: vendor}".
type VNFD struct {
	// ID is descriptor_id, which is vnfdId in SOL003.
	ID string
	// Provider, ProductName and SoftwareVersion name the product.
	Provider, ProductName, SoftwareVersion string
	// Version is descriptor_version.
	Version string
	// ProductInfoName and ProductInfoDescription are optional texts for display.
	ProductInfoName, ProductInfoDescription string
	// VNFMInfo names the VNFMs that can manage the VNF.
	VNFMInfo []string
	// Languages is localization_languages. DefaultLanguage is default_localization_language.
	Languages       []string
	DefaultLanguage string
	// ExtInvariantID is ext_invariant_id (SOL001 v4.3.1). Versions of a VNF with the same external interfaces share it.
	ExtInvariantID string
	// Configurable and Modifiable are the attributes that requests can set.
	Configurable ConfigurableProperties
	Modifiable   ModifiableAttributes
	// Flavours are the deployment flavours, sorted by ID. There is at least one.
	Flavours []Flavour
	// Changes are the VnfPackageChange policies of all flavours, sorted by ID.
	Changes []PackageChange
	// Entry is the topology template of the entry definitions. In a VNFD with one flavour it can be that of the flavour.
	Entry Topology
	// Pos is the position of the VNF node of the entry definitions.
	Pos problem.Position
}

// Flavour returns the deployment flavour with this id. The error wraps ErrUnknown and names the existing ids.
func (v *VNFD) Flavour(id string) (*Flavour, error) {
	for i := range v.Flavours {
		if v.Flavours[i].ID == id {
			return &v.Flavours[i], nil
		}
	}
	return nil, &RequestError{"flavourId", id, fmt.Sprintf("flavour is %v (flavours: %s)", ErrUnknown, names(v.Flavours, func(f Flavour) string { return f.ID })), ErrUnknown}
}
