package vnflcm

import "github.com/vnfkit/vnfkit/tosca"

// CreateVnfRequest asks for a VNF instance identifier (SOL003 v2.6.1 5.5.2.3).
type CreateVnfRequest struct {
	VnfdID                 string        `json:"vnfdId"`
	VnfInstanceName        string        `json:"vnfInstanceName,omitempty"`
	VnfInstanceDescription string        `json:"vnfInstanceDescription,omitempty"`
	Metadata               KeyValuePairs `json:"metadata,omitempty"`
	// Tenant is whom the instance belongs to, for programs that serve several tenants. It is no attribute of SOL003: the program
	// sets it, not the client. It is stored with the instance and its operations, and never changes.
	Tenant string `json:"-"`
}

// InstantiateVnfRequest (SOL003 v2.6.1 5.5.2.4).
type InstantiateVnfRequest struct {
	FlavourID              string                      `json:"flavourId"`
	InstantiationLevelID   string                      `json:"instantiationLevelId,omitempty"`
	TargetScaleLevelInfo   []ScaleInfo                 `json:"targetScaleLevelInfo,omitempty"` // SOL003 v3.3.1: levels per aspect instead of a named level
	ExtVirtualLinks        []ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks []ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	VimConnectionInfo      VimConnections              `json:"vimConnectionInfo,omitempty"`
	LocalizationLanguage   string                      `json:"localizationLanguage,omitempty"`
	AdditionalParams       Params                      `json:"additionalParams,omitzero"`
	Extensions             Params                      `json:"extensions,omitzero"`
	// VnfConfigurableProperties replace those of the instance (SOL003 v3.3.1). Without them the instance keeps its own.
	VnfConfigurableProperties Params `json:"vnfConfigurableProperties,omitzero"`
}

// ScaleType of a ScaleVnfRequest.
type ScaleType = tosca.ScaleType

// The directions of scaling (SOL003 v2.6.1 5.5.2.5).
const (
	ScaleOut = tosca.ScaleOut
	ScaleIn  = tosca.ScaleIn
)

// ScaleVnfRequest (SOL003 v2.6.1 5.5.2.5).
type ScaleVnfRequest struct {
	Type             ScaleType `json:"type"`
	AspectID         string    `json:"aspectId"`
	NumberOfSteps    int       `json:"numberOfSteps,omitempty"` // default 1
	AdditionalParams Params    `json:"additionalParams,omitzero"`
}

// HealVnfRequest (SOL003 v2.6.1 5.5.2.9, with vnfcInstanceId of SOL002 v2.6.1 5.5.2.9).
type HealVnfRequest struct {
	// VnfcInstanceID names the VNFCs to heal, by the id of their vnfcInfo or of their vnfcResourceInfo.
	// Nil: the whole VNF is healed. An empty list is refused, because it is more likely to be a mistake than the wish
	// to replace every machine.
	VnfcInstanceID   []string `json:"vnfcInstanceId,omitempty"`
	Cause            string   `json:"cause,omitempty"`
	HealScript       string   `json:"healScript,omitempty"`
	AdditionalParams Params   `json:"additionalParams,omitzero"`
}

// documentChecker is a request with faults that only the document shows, such as an attribute that is null.
type documentChecker interface {
	checkDocument(document []byte) error
}

func (r *HealVnfRequest) checkDocument(document []byte) error {
	if len(r.VnfcInstanceID) == 0 && hasAttribute(document, vnfcAttribute) {
		return errNoVNFC
	}
	return r.check()
}

// TerminationType of a TerminateVnfRequest.
type TerminationType string

// The ways to terminate (SOL003 v2.6.1 5.5.2.8).
const (
	TerminateForceful TerminationType = "FORCEFUL"
	TerminateGraceful TerminationType = "GRACEFUL"
)

// TerminateVnfRequest (SOL003 v2.6.1 5.5.2.8).
type TerminateVnfRequest struct {
	TerminationType            TerminationType `json:"terminationType"`
	GracefulTerminationTimeout int             `json:"gracefulTerminationTimeout,omitempty"` // seconds
	AdditionalParams           Params          `json:"additionalParams,omitzero"`
}

// ChangeExtVnfConnectivityRequest connects external connection points to other links, or in another way
// (SOL003 v2.6.1 5.5.2.11). Links and connection points that it does not name stay as they are.
type ChangeExtVnfConnectivityRequest struct {
	ExtVirtualLinks   []ExtVirtualLinkData `json:"extVirtualLinks"`
	VimConnectionInfo VimConnections       `json:"vimConnectionInfo,omitempty"`
	AdditionalParams  Params               `json:"additionalParams,omitzero"`
}

// ChangeCurrentVnfPkgRequest changes the VNF package of an instantiated VNF (SOL003 v3.3.1 5.5.2.11a).
type ChangeCurrentVnfPkgRequest struct {
	VnfdID string `json:"vnfdId"` // of the package to change to
	// Links and connection points that the request does not name stay as they are.
	ExtVirtualLinks        []ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks []ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	// VimConnectionInfo is merged into the connections of the instance, as Modify does it.
	VimConnectionInfo VimConnections `json:"vimConnectionInfo,omitempty"`
	// AdditionalParams without the attributes of PackageChangeOptions are merged over those of the instantiation (RFC 7396), for this
	// operation and all later ones.
	AdditionalParams Params `json:"additionalParams,omitzero"`
	// These are merge patches (RFC 7396): null removes an attribute.
	Extensions                Params `json:"extensions,omitzero"`
	VnfConfigurableProperties Params `json:"vnfConfigurableProperties,omitzero"`
}

// CancelMode says what becomes of the work under way when an operation is cancelled.
type CancelMode string

// The modes of CancelMode (SOL003 v2.6.1 5.5.2.12).
const (
	CancelGraceful CancelMode = "GRACEFUL" // steps under way are finished, no further one starts
	CancelForceful CancelMode = "FORCEFUL" // steps under way are interrupted
)
