package vnflcm

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
)

// packageTarget is a package that an instance changes to, or that a part of a mixed VNF runs by.
type packageTarget struct {
	VnfdID     string                     `json:"vnfdId"`
	VnfPkgID   string                     `json:"vnfPkgId,omitempty"`
	Digest     string                     `json:"digest"`
	Product    product                    `json:"product"`
	FlavourID  string                     `json:"flavourId"`
	LevelID    string                     `json:"levelId,omitempty"`
	ScaleInfo  []ScaleInfo                `json:"scaleInfo,omitempty"` // targetScaleLevelInfo
	Levels     map[string]int             `json:"levels,omitempty"`
	Components successors                 `json:"components,omitempty"`
	LostCPs    []string                   `json:"lostCps,omitempty"`   // connection points of the former flavour without a successor
	Operation  string                     `json:"operation,omitempty"` // that the policy calls
	Request    ChangeCurrentVnfPkgRequest `json:"request"`
	Earlier    []Params                   `json:"earlier,omitempty"` // additionalParams of earlier changes to the package, which were given up
	VIMForm    vimForm                    `json:"vimForm,omitempty"` // of the first connection, if the request changes it
	VIMOwner   *string                    `json:"vimOwner,omitempty"`
}

// product is the data of a VNFD that an instance shows.
type product struct {
	Provider        string `json:"provider"`
	ProductName     string `json:"productName"`
	SoftwareVersion string `json:"softwareVersion"`
	Version         string `json:"version"`
}

// successors are the ids of components in the package that a VNF changes to, by type and id in the other package.
type successors map[tosca.ComponentType]map[string]string

// apply returns the instance as it is when the package has been changed, with its present resources.
func (t *packageTarget) apply(inst *instanceRecord) (*instanceRecord, error) {
	out := *inst
	i := &out.Instance
	i.VnfdID, i.VnfPkgID, out.PackageDigest = t.VnfdID, t.VnfPkgID, t.Digest
	i.VnfProvider, i.VnfProductName, i.VnfSoftwareVersion, i.VnfdVersion = t.Product.Provider, t.Product.ProductName, t.Product.SoftwareVersion, t.Product.Version
	out.Initial.FlavourID, out.Initial.InstantiationLevelID, out.Initial.TargetScaleLevelInfo = t.FlavourID, t.LevelID, t.ScaleInfo
	out.Levels = t.Levels
	own, err := t.Request.driverParams()
	if err != nil {
		return nil, err
	}
	for _, given := range append(slices.Clone(t.Earlier), own) {
		if out.Initial.AdditionalParams, err = out.Initial.AdditionalParams.Merge(given); err != nil {
			return nil, err
		}
	}
	return &out, out.modify(t.Request.modification(), t.VIMForm, t.VIMOwner)
}

// modification returns the attributes of the instance that the request changes.
func (r *ChangeCurrentVnfPkgRequest) modification() VnfInfoModificationRequest {
	return VnfInfoModificationRequest{Extensions: r.Extensions, VnfConfigurableProperties: r.VnfConfigurableProperties, VimConnectionInfo: r.VimConnectionInfo}
}

// driverParams returns additionalParams without the attributes that the Manager reads.
func (r *ChangeCurrentVnfPkgRequest) driverParams() (Params, error) {
	var given map[string]any
	if err := decodeUseNumber(r.AdditionalParams.Reveal(), &given); err != nil {
		return Params{}, err
	}
	for name := range jsonFields(reflect.TypeFor[PackageChangeOptions]()) {
		delete(given, name)
	}
	return NewParams(given)
}

// findTarget sets what follows from the two packages: flavour, levels and corresponding components.
func (t *packageTarget) findTarget(inst *instanceRecord, own, next *tosca.VNFD) error {
	t.Product = product{next.Provider, next.ProductName, next.SoftwareVersion, next.Version}
	policy, err := t.findPolicy(inst, own, next)
	if err != nil {
		return err
	}
	t.FlavourID = inst.Initial.FlavourID
	if policy != nil {
		t.FlavourID, t.Operation, t.Components = policy.DestinationFlavourID, policy.Operation, successors{}
		for _, m := range policy.Mappings {
			if t.Components[m.Type] == nil {
				t.Components[m.Type] = map[string]string{}
			}
			t.Components[m.Type][m.SourceID] = m.DestinationID
		}
	}
	flavour, err := next.Flavour(t.FlavourID)
	if err != nil {
		return vnfdFault(t.VnfdID, "%v", err)
	}
	if former, err := own.Flavour(inst.Initial.FlavourID); err == nil {
		t.findLostCPs(inst, former, flavour)
	}
	return t.findLevels(inst, flavour)
}

// findLostCPs finds the connection points of external links that only the former flavour has.
func (t *packageTarget) findLostCPs(inst *instanceRecord, former, flavour *tosca.Flavour) {
	for _, link := range inst.Links {
		for _, cp := range link.ExtCps {
			if hasCP(former, cp.CpdID) && !hasCP(flavour, t.Components.of(tosca.MappedCP, cp.CpdID)) {
				t.LostCPs = append(t.LostCPs, cp.CpdID)
			}
		}
	}
}

// carryLinks returns external links with the connection points that the VNF has after the change.
func (t *packageTarget) carryLinks(links []ExtVirtualLinkData) (out []ExtVirtualLinkData) {
	for _, link := range links {
		var stay []VnfExtCpData
		for _, cp := range link.ExtCps {
			if !slices.Contains(t.LostCPs, cp.CpdID) {
				cp.CpdID = t.Components.of(tosca.MappedCP, cp.CpdID)
				stay = append(stay, cp)
			}
		}
		if link.ExtCps = stay; len(stay) > 0 {
			out = append(out, link)
		}
	}
	return out
}

// vnfdFault is a fault of the package that a request names.
func vnfdFault(vnfdID, format string, args ...any) error {
	return &ParamError{Path: "vnfdId", Value: vnfdID, Reason: fmt.Sprintf(format, args...)}
}

// findPolicy returns the policy for the change, nil if the change needs none.
func (t *packageTarget) findPolicy(inst *instanceRecord, own, next *tosca.VNFD) (*tosca.PackageChange, error) {
	options, err := t.Request.options()
	if err != nil {
		return nil, err
	}
	for _, vnfd := range []*tosca.VNFD{next, own} {
		if policy := vnfd.Change(own.ID, inst.Initial.FlavourID, next.ID); policy != nil {
			return policy, nil
		}
	}
	switch {
	case len(next.Changes) > 0 && !options.AllowOtherSource:
		return nil, vnfdFault(next.ID, "has policies VnfPackageChange (%s), and none for a change from VNFD %s with flavour %s: additionalParams.allow_other_source allows it",
			enumerate(sourcesOf(next), ", "), own.ID, inst.Initial.FlavourID)
	case len(next.Changes) == 0 && !options.AllowOtherProduct && (own.Provider != next.Provider || own.ProductName != next.ProductName):
		return nil, vnfdFault(next.ID, "is another product: %s of %s instead of %s of %s, and has no policy VnfPackageChange. additionalParams.allow_other_product allows it",
			next.ProductName, next.Provider, own.ProductName, own.Provider)
	}
	return nil, nil //nolint:nilnil // no policy
}

// sourcesOf lists the VNFDs from which the policies of a VNFD lead.
func sourcesOf(vnfd *tosca.VNFD) (out []string) {
	for _, c := range vnfd.Changes {
		for _, s := range c.Selectors {
			out = append(out, "from "+s.SourceID+" with flavour "+s.SourceFlavourID)
		}
	}
	return out
}

// findLevels sets the scale levels after the change. Aspects keep their levels; those that only the new flavour has get their initial ones.
func (t *packageTarget) findLevels(inst *instanceRecord, flavour *tosca.Flavour) error {
	if id := t.Components.of(tosca.MappedLevel, inst.Initial.InstantiationLevelID); hasLevel(flavour, id) {
		t.LevelID = id
	}
	for _, info := range inst.Initial.TargetScaleLevelInfo {
		if info.AspectID = t.Components.of(tosca.MappedAspect, info.AspectID); hasAspect(flavour, info.AspectID) {
			info.VnfdID = ""
			t.ScaleInfo = append(t.ScaleInfo, info)
		}
	}
	levels := map[string]int{}
	var faults []error
	for _, aspect := range sortedKeys(inst.Levels) {
		id := t.Components.of(tosca.MappedAspect, aspect)
		switch {
		case hasAspect(flavour, id):
			levels[id] = inst.Levels[aspect]
		case inst.Levels[aspect] > 0 && t.keepsVDU(inst, flavour, aspect):
			faults = append(faults, vnfdFault(t.VnfdID, "flavour %s has no scaling aspect %s, which is at level %d: scale it in first", flavour.ID, aspect, inst.Levels[aspect]))
		}
	}
	size, err := flavour.SizeAt(tosca.TargetSize{InstantiationLevelID: t.LevelID, TargetScaleLevelInfo: t.ScaleInfo}, levels)
	if err != nil {
		faults = append(faults, vnfdFault(t.VnfdID, "flavour %s cannot have the size of the VNF: %v", flavour.ID, err))
	}
	t.Levels = size.ScaleStatus
	return errors.Join(faults...)
}

// keepsVDU reports whether the new flavour has a VDU of which VNFCs belong to an aspect.
func (t *packageTarget) keepsVDU(inst *instanceRecord, flavour *tosca.Flavour, aspect string) bool {
	return slices.ContainsFunc(inst.Resources.VNFCs, func(v VNFC) bool {
		return v.Aspect == aspect && flavour.VDU(t.Components.of(tosca.MappedVDU, v.VDU)) != nil
	})
}

func hasLevel(f *tosca.Flavour, id string) bool {
	return id != "" && slices.ContainsFunc(f.Levels, func(l tosca.InstantiationLevel) bool { return l.ID == id })
}

func hasAspect(f *tosca.Flavour, id string) bool {
	return slices.ContainsFunc(f.Aspects, func(a tosca.Aspect) bool { return a.ID == id })
}

// of returns the id of a component after the change.
func (s successors) of(component tosca.ComponentType, id string) string {
	if successor, mapped := s[component][id]; mapped {
		return successor
	}
	return id
}

// inverse returns the ids before the change.
func (s successors) inverse() successors {
	out := successors{}
	for component, ids := range s {
		out[component] = map[string]string{}
		for from, to := range ids {
			out[component][to] = from
		}
	}
	return out
}

// packageRequest returns the request of a CHANGE_VNFPKG.
func (rec *operationRecord) packageRequest() (req ChangeCurrentVnfPkgRequest, err error) {
	err = json.Unmarshal(rec.Occ.OperationParams.Reveal(), &req)
	return req, err
}

// keepTarget sets the target of a change back to the own package of a mixed VNF: flavour and levels stay.
func (t *packageTarget) keepTarget(inst *instanceRecord, vnfd *tosca.VNFD) error {
	t.Product = product{vnfd.Provider, vnfd.ProductName, vnfd.SoftwareVersion, vnfd.Version}
	t.FlavourID, t.LevelID, t.ScaleInfo, t.Levels = inst.Initial.FlavourID, inst.Initial.InstantiationLevelID, inst.Initial.TargetScaleLevelInfo, inst.Levels
	t.Components = inst.Mixed.To.Components.inverse()
	return nil
}
