package tosca

import "github.com/vnfkit/vnfkit/tosca/problem"

// PackageChange is a VnfPackageChange policy (SOL001 v3.3.1): how an instance of one VNFD becomes an instance of another one.
// Either VNFD can be the one that has the policy.
type PackageChange struct {
	// ID is the name of the policy.
	ID string
	// Selectors are the pairs of VNFDs to which the policy applies: one before SOL001 v4.2.1, at least one since then.
	Selectors []PackageChangeSelector
	// Qualifier is modification_qualifier: "up" for a newer destination, "down" for an older one.
	Qualifier string
	// Description is additional_modification_description.
	Description string
	// DestinationFlavourID is the flavour of the destination VNFD that the instance has after the change.
	DestinationFlavourID string
	// Mappings name the components that have another id in the destination VNFD, in document order.
	Mappings []ComponentMapping
	// Actions are the names of CoordinationActions of this VNFD, ReferencedActions are names that other documents define (SOL001
	// v3.5.1).
	Actions, ReferencedActions []string
	// Operation is the operation in Flavour.ChangeOperations that the triggers of the policy call. It is "" if the change calls only
	// the operations of Vnflcm.
	Operation string
	// Triggers are the triggers of the policy, by name.
	Triggers map[string]Trigger
	// Pos is the position of the policy.
	Pos problem.Position
}

// PackageChangeSelector is VnfPackageChangeSelector.
type PackageChangeSelector struct {
	// SourceID and DestinationID are the ids of the two VNFDs. SourceFlavourID is the flavour that the instance has before the change.
	SourceID, DestinationID, SourceFlavourID string
	// Pos is the position of the selector.
	Pos problem.Position
}

// ComponentType is the kind of the components of a ComponentMapping.
type ComponentType string

// The kinds of components that SOL001 maps. MappedFlavour exists only up to SOL001 v3.7.1.
const (
	MappedVDU         ComponentType = "vdu"
	MappedCP          ComponentType = "cp"
	MappedVirtualLink ComponentType = "virtual_link"
	MappedStorage     ComponentType = "virtual_storage"
	MappedFlavour     ComponentType = "deployment_flavour"
	MappedLevel       ComponentType = "instantiation_level"
	MappedAspect      ComponentType = "scaling_aspect"
)

// ComponentMapping is VnfPackageChangeComponentMapping.
type ComponentMapping struct {
	Type ComponentType
	// SourceID and DestinationID are the ids of the component in the two VNFDs.
	SourceID, DestinationID string
	Description             string
	// Pos is the position of the mapping.
	Pos problem.Position
}

// Change returns the policy for the change from a flavour of the VNFD sourceID to the VNFD destinationID, nil if this VNFD has no policy
// for the change. Both VNFDs of a change can have a policy: the destination usually describes the way up, and the source the way down.
func (v *VNFD) Change(sourceID, sourceFlavourID, destinationID string) *PackageChange {
	for i := range v.Changes {
		for _, s := range v.Changes[i].Selectors {
			if s.SourceID == sourceID && s.SourceFlavourID == sourceFlavourID && s.DestinationID == destinationID {
				return &v.Changes[i]
			}
		}
	}
	return nil
}

// Destination returns the id that a component of the source VNFD has in the destination VNFD. Components without a mapping keep their id.
func (c *PackageChange) Destination(kind ComponentType, sourceID string) string {
	for _, m := range c.Mappings {
		if m.Type == kind && m.SourceID == sourceID {
			return m.DestinationID
		}
	}
	return sourceID
}
