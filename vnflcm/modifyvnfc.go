package vnflcm

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// VnfcInfoModification changes an entry of vnfcInfo (SOL002 v2.6.1 5.5.3.24).
type VnfcInfoModification struct {
	ID string `json:"id"` // of the vnfcInfo or of its vnfcResourceInfo
	// VnfcConfigurableProperties is a merge patch (RFC 7396): null removes a property.
	VnfcConfigurableProperties Params `json:"vnfcConfigurableProperties,omitzero"`
}

// mostKnown is how many ids an error lists.
const mostKnown = 10

// checkVNFCs finds the faults of the modifications of VNFCs.
func (rec *instanceRecord) checkVNFCs(req VnfInfoModificationRequest) (faults []error) {
	for i, m := range req.VnfcInfoModifications {
		path := fmt.Sprintf("vnfcInfoModifications[%d]", i)
		switch {
		case rec.Instance.InstantiationState != Instantiated:
			faults = append(faults, &ParamError{Path: path, Value: m.ID, Reason: "the VNF is not instantiated, so it has no vnfcInfo"})
		case rec.vnfcNamed(m.ID) < 0:
			faults = append(faults, &ParamError{Path: path + ".id", Value: m.ID, Reason: "no vnfcInfo has this id: the VNF has " + rec.knownVNFCs()})
		case m.VnfcConfigurableProperties.IsZero():
			faults = append(faults, &ParamError{Path: path + ".vnfcConfigurableProperties", Reason: "is required"})
		}
	}
	if len(req.VnfcInfoModificationsDeleteIDs) > 0 {
		faults = append(faults, &ParamError{Path: "vnfcInfoModificationsDeleteIds", Value: strings.Join(req.VnfcInfoModificationsDeleteIDs, ", "),
			Reason: "is not supported: an entry of vnfcInfo ends with its machine (scale or terminate). null in vnfcConfigurableProperties removes a property"})
	}
	return faults
}

func (rec *instanceRecord) vnfcNamed(id string) int {
	return slices.IndexFunc(rec.Resources.VNFCs, func(v VNFC) bool { return v.named(id) })
}

// knownVNFCs lists the ids of vnfcInfo with the names of the machines.
func (rec *instanceRecord) knownVNFCs() string {
	var known []string
	for i, v := range rec.Resources.VNFCs {
		if i == mostKnown {
			known = append(known, fmt.Sprintf("%d more", len(rec.Resources.VNFCs)-mostKnown))
			break
		}
		known = append(known, v.vnfcInfoID()+" ("+v.Label()+")")
	}
	if len(known) == 0 {
		return "none"
	}
	return strings.Join(known, ", ")
}

// modifiedVNFCs returns the properties of VNFCs, by their ids, after a modification that checkVNFCs allows.
func (rec *instanceRecord) modifiedVNFCs(req VnfInfoModificationRequest) (map[string]Params, error) {
	out := maps.Clone(rec.VNFCProperties)
	for _, m := range req.VnfcInfoModifications {
		i := rec.vnfcNamed(m.ID)
		if i < 0 {
			continue // checkVNFCs has a fault, or the VNFC has ended since
		}
		if out == nil {
			out = map[string]Params{}
		}
		id := rec.Resources.VNFCs[i].ID
		properties, err := out[id].Merge(m.VnfcConfigurableProperties)
		if err != nil {
			return nil, err
		}
		if out[id] = properties; string(properties.Reveal()) == "{}" {
			delete(out, id)
		}
	}
	return out, nil
}

// setResources sets the resources after they have been changed. The properties of VNFCs that have ended are removed.
func (rec *instanceRecord) setResources(now Resources) {
	rec.Resources, rec.VNFCProperties = now, maps.Clone(rec.VNFCProperties) // other readers have the record
	maps.DeleteFunc(rec.VNFCProperties, func(id string, _ Params) bool {
		return !slices.ContainsFunc(now.VNFCs, func(v VNFC) bool { return v.ID == id })
	})
}

func sizeOf(properties map[string]Params) (bytes int) {
	for _, p := range properties {
		bytes += len(p.Reveal())
	}
	return bytes
}
