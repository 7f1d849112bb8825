package tosca

import (
	"fmt"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// VNFD is a parsed VNF descriptor (SOL001 clause 6). A property that the
// descriptor leaves to an input without a default holds the text of the
// expression, for instance "{get_input: vendor}".
type VNFD struct {
	// ID is descriptor_id, the identifier a VnfInstance calls vnfdId.
	ID string
	// Provider, ProductName and SoftwareVersion name the product.
	Provider, ProductName, SoftwareVersion string
	// Version is descriptor_version.
	Version string
	// ProductInfoName and ProductInfoDescription are the optional texts for people.
	ProductInfoName, ProductInfoDescription string
	// VNFMInfo names the VNFMs that can manage the VNF.
	VNFMInfo []string
	// Languages holds localization_languages, DefaultLanguage
	// default_localization_language.
	Languages       []string
	DefaultLanguage string
	// ExtInvariantID is ext_invariant_id (SOL001 v4.3.1), which versions of a VNF
	// share that look alike from the outside.
	ExtInvariantID string
	// Configurable and Modifiable are what requests can set.
	Configurable ConfigurableProperties
	Modifiable   ModifiableAttributes
	// Flavours are the deployment flavours, sorted by ID. There is at least one.
	Flavours []Flavour
	// Pos is the position of the VNF node of the entry definitions.
	Pos problem.Position
}

// Flavour returns the deployment flavour with that id. The error names the ids
// there are.
func (v *VNFD) Flavour(id string) (*Flavour, error) {
	for i := range v.Flavours {
		if v.Flavours[i].ID == id {
			return &v.Flavours[i], nil
		}
	}
	return nil, &RequestError{"flavourId", id, fmt.Sprintf("flavour is %v (flavours: %s)", ErrUnknown, names(v.Flavours, func(f Flavour) string { return f.ID })), ErrUnknown}
}
