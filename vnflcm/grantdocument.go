package vnflcm

import "encoding/json"

// GrantRequest (SOL003 v2.6.1 9.5.2.2, v3.3.1 9.5.2.2). AdditionalParams are those of the request for the
// operation that are not secret.
type GrantRequest struct {
	VnfInstanceID string `json:"vnfInstanceId"`
	VnfLcmOpOccID string `json:"vnfLcmOpOccId"`
	VnfdID        string `json:"vnfdId"`
	// DstVnfdID is the VNFD after a change of the VNF package (SOL003 v3.3.1).
	DstVnfdID            string                `json:"dstVnfdId,omitempty"`
	FlavourID            string                `json:"flavourId,omitempty"`
	Operation            LcmOperation          `json:"operation"`
	IsAutomaticInvoked   bool                  `json:"isAutomaticInvocation"`
	InstantiationLevelID string                `json:"instantiationLevelId,omitempty"` // of a request to instantiate that names one
	AddResources         []ResourceDefinition  `json:"addResources,omitempty"`
	TempResources        []ResourceDefinition  `json:"tempResources,omitempty"`
	RemoveResources      []ResourceDefinition  `json:"removeResources,omitempty"`
	UpdateResources      []ResourceDefinition  `json:"updateResources,omitempty"`
	PlacementConstraints []PlacementConstraint `json:"placementConstraints,omitempty"`
	VimConstraints       []VimConstraint       `json:"vimConstraints,omitempty"`
	AdditionalParams     Params                `json:"additionalParams,omitzero"`
	Links                *GrantRequestLinks    `json:"_links,omitempty"`
}

// GrantRequestLinks are the links of a GrantRequest (SOL003 v2.6.1 9.5.2.2).
type GrantRequestLinks struct {
	VnfLcmOpOcc Link `json:"vnfLcmOpOcc"`
	VnfInstance Link `json:"vnfInstance"`
}

// Link is a link to a resource (SOL003 v2.6.1 4.4.1.2).
type Link struct {
	Href string `json:"href"`
}

// ResourceDefinition (SOL003 v2.6.1 9.5.3.2).
type ResourceDefinition struct {
	ID                 string          `json:"id"`
	Type               string          `json:"type"` // COMPUTE
	VduID              string          `json:"vduId,omitempty"`
	VnfdID             string          `json:"vnfdId,omitempty"` // SOL003 v3.3.1: set if it is not the VnfdID of the request
	ResourceTemplateID string          `json:"resourceTemplateId,omitempty"`
	VnfcID             string          `json:"vnfdVnfcId,omitempty"` // no attribute of SOL003: a client does not send it
	ResourceID         *ResourceHandle `json:"resource,omitempty"`
}

// PlacementConstraint is an affinity rule of the VNFD for resources of the request (SOL003 v2.6.1 9.5.3).
type PlacementConstraint struct {
	AffinityOrAntiAffinity string                  `json:"affinityOrAntiAffinity"` // AFFINITY or ANTI_AFFINITY
	Scope                  string                  `json:"scope"`                  // NFVI_POP, ZONE, ZONE_GROUP or NFVI_NODE
	Resource               []ConstraintResourceRef `json:"resource"`               // at least two
	FallbackBestEffort     bool                    `json:"fallbackBestEffort,omitempty"`
}

// VimConstraint asks for one VIM connection for all its resources (SOL003 v2.6.1 9.5.3).
type VimConstraint struct {
	SameResourceGroup bool                    `json:"sameResourceGroup,omitempty"`
	Resource          []ConstraintResourceRef `json:"resource"` // at least two
}

// ConstraintResourceRef names a resource of a constraint (SOL003 v2.6.1 9.5.3).
type ConstraintResourceRef struct {
	IDType             string `json:"idType"` // GRANT: the id of a ResourceDefinition; RES_MGMT: the id of a resource on the VIM
	ResourceID         string `json:"resourceId"`
	VimConnectionID    string `json:"vimConnectionId,omitempty"`
	ResourceProviderID string `json:"resourceProviderId,omitempty"`
}

// Grant (SOL003 v2.6.1 9.5.2.3, v3.3.1 9.5.2.3).
type Grant struct {
	ID            string `json:"id"`
	VnfInstanceID string `json:"vnfInstanceId,omitempty"`
	VnfLcmOpOccID string `json:"vnfLcmOpOccId,omitempty"`
	// VimConnectionInfo is read from the map of v3.3.1, and from the list vimConnections of v2.6.1.
	VimConnectionInfo VimConnections  `json:"vimConnectionInfo,omitempty"`
	Zones             []ZoneInfo      `json:"zones,omitempty"`
	ZoneGroups        []ZoneGroupInfo `json:"zoneGroups,omitempty"`
	AddResources      []GrantInfo     `json:"addResources,omitempty"`
	TempResources     []GrantInfo     `json:"tempResources,omitempty"`
	RemoveResources   []GrantInfo     `json:"removeResources,omitempty"`
	UpdateResources   []GrantInfo     `json:"updateResources,omitempty"`
	// The reservations of all resources of a type (SOL003 v2.6.1).
	ComputeReservationID string     `json:"computeReservationId,omitempty"`
	NetworkReservationID string     `json:"networkReservationId,omitempty"`
	StorageReservationID string     `json:"storageReservationId,omitempty"`
	VimAssets            *VimAssets `json:"vimAssets,omitempty"`
	// The links that the NFVO decides on; they override those of the request.
	ExtVirtualLinks        []ExtVirtualLinkData        `json:"extVirtualLinks,omitempty"`
	ExtManagedVirtualLinks []ExtManagedVirtualLinkData `json:"extManagedVirtualLinks,omitempty"`
	AdditionalParams       Params                      `json:"additionalParams,omitzero"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (g *Grant) UnmarshalJSON(data []byte) error {
	type plain Grant
	both := struct {
		*plain

		List VimConnections `json:"vimConnections"` // SOL003 v2.6.1
	}{plain: (*plain)(g)}
	if err := json.Unmarshal(data, &both); err != nil {
		return err
	}
	if len(g.VimConnectionInfo) == 0 {
		g.VimConnectionInfo = both.List
	}
	return nil
}

// VimAssets maps identifiers of the VNFD to those of the VIM (SOL003 v2.6.1 9.5.3.5).
type VimAssets struct {
	ComputeResourceFlavours []VimComputeResourceFlavour `json:"computeResourceFlavours,omitempty"`
	SoftwareImages          []VimSoftwareImage          `json:"softwareImages,omitempty"`
}

// VimComputeResourceFlavour (SOL003 v2.6.1 9.5.3.6).
type VimComputeResourceFlavour struct {
	VimConnectionID          string `json:"vimConnectionId,omitempty"`
	ResourceProviderID       string `json:"resourceProviderId,omitempty"`
	VnfdVirtualComputeDescID string `json:"vnfdVirtualComputeDescId"`
	VimFlavourID             string `json:"vimFlavourId"`
}

// VimSoftwareImage (SOL003 v2.6.1 9.5.3.7).
type VimSoftwareImage struct {
	VimConnectionID     string `json:"vimConnectionId,omitempty"`
	ResourceProviderID  string `json:"resourceProviderId,omitempty"`
	VnfdSoftwareImageID string `json:"vnfdSoftwareImageId"`
	VimSoftwareImageID  string `json:"vimSoftwareImageId"`
}

// ZoneInfo is a zone that the grant names (SOL003 v2.6.1 9.5.3.4).
type ZoneInfo struct {
	ID              string `json:"id"`     // in the grant
	ZoneID          string `json:"zoneId"` // on the VIM
	VimConnectionID string `json:"vimConnectionId,omitempty"`
}

// ZoneGroupInfo is a group of zones (SOL003 v2.6.1 9.5.3).
type ZoneGroupInfo struct {
	ZoneID []string `json:"zoneId"` // the ids of ZoneInfo
}

// GrantInfo is the decision about one resource of the request (SOL003 v2.6.1 9.5.3.3).
type GrantInfo struct {
	ResourceDefinitionID string `json:"resourceDefinitionId"`
	ReservationID        string `json:"reservationId,omitempty"`
	VimConnectionID      string `json:"vimConnectionId,omitempty"`
	ResourceProviderID   string `json:"resourceProviderId,omitempty"`
	ZoneID               string `json:"zoneId,omitempty"` // the id of a ZoneInfo
	ResourceGroupID      string `json:"resourceGroupId,omitempty"`
}
