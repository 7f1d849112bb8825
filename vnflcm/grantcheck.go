package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
)

// GrantDecision is a kind of decision of a grant that only some drivers can follow.
type GrantDecision string

// The decisions. The first three place resources: the Manager refuses a grant with a placement that the InfraDriver does not follow, before
// anything is changed. Of the other ones it warns.
const (
	GrantedZone          GrantDecision = "zoneId" // Operation.GrantedZones
	GrantedReservation   GrantDecision = "reservationId"
	GrantedResourceGroup GrantDecision = "resourceGroupId"
	GrantedFlavour       GrantDecision = "vimAssets.computeResourceFlavours"
	GrantedImage         GrantDecision = "vimAssets.softwareImages"
	GrantedParams        GrantDecision = "additionalParams"
)

// GrantFollower is a driver that follows decisions of grants (Operation.Grant) beside those about VIMs and links, which each driver gets in
// Operation.VIM, Operation.Connectivity and Operation.ManagedLinks.
type GrantFollower interface {
	// FollowsGrants returns the decisions that the driver follows.
	FollowsGrants() []GrantDecision
}

// grantedList is a list of resources in a request, and its decisions.
type grantedList struct {
	name    string
	asked   []ResourceDefinition
	granted *[]GrantInfo
}

// lists returns the lists of a request, and those of the grant.
func (r GrantRequest) lists(g *Grant) []grantedList {
	return []grantedList{{"addResources", r.AddResources, &g.AddResources}, {"tempResources", r.TempResources, &g.TempResources},
		{"removeResources", r.RemoveResources, &g.RemoveResources}, {"updateResources", r.UpdateResources, &g.UpdateResources}}
}

// check returns every fault of a grant as an answer to the request.
func (g *Grant) check(request GrantRequest, f *tosca.Flavour) error {
	var faults []error
	wrong := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if g.VnfLcmOpOccID != request.VnfLcmOpOccID {
		wrong("vnfLcmOpOccId: %q is another operation", g.VnfLcmOpOccID)
	}
	if g.VnfInstanceID != request.VnfInstanceID {
		wrong("vnfInstanceId: %q is another VNF instance", g.VnfInstanceID)
	}
	for _, list := range request.lists(g) {
		left := map[string]bool{}
		for _, d := range list.asked {
			left[d.ID] = true
		}
		for i, granted := range *list.granted {
			if !left[granted.ResourceDefinitionID] {
				wrong("%s[%d].resourceDefinitionId: %q was not requested, or is granted twice", list.name, i, granted.ResourceDefinitionID)
			}
			delete(left, granted.ResourceDefinitionID)
			if id := granted.ZoneID; id != "" && !slices.ContainsFunc(g.Zones, func(z ZoneInfo) bool { return z.ID == id }) {
				wrong("%s[%d].zoneId: %q is no id of zones", list.name, i, id)
			}
		}
		if len(left) > 0 {
			wrong("%s: has no decision about %s", list.name, enumerate(sortedKeys(left), ", "))
		}
	}
	return errors.Join(append(faults, g.checkLinks(f))...)
}

// checkLinks returns the faults of the links that a grant decides on.
func (g *Grant) checkLinks(f *tosca.Flavour) error {
	var faults []error
	for i, link := range g.ExtVirtualLinks {
		if link.ResourceID == "" {
			faults = append(faults, fmt.Errorf("extVirtualLinks[%d].resourceId: is required", i))
		}
		for j, cp := range link.ExtCps {
			if !hasCP(f, cp.CpdID) {
				faults = append(faults, fmt.Errorf("extVirtualLinks[%d].extCps[%d].cpdId: the flavour has no connection point %q", i, j, cp.CpdID))
			}
		}
	}
	for i, link := range g.ExtManagedVirtualLinks {
		if link.ResourceID == "" {
			faults = append(faults, fmt.Errorf("extManagedVirtualLinks[%d].resourceId: is required", i))
		}
	}
	return errors.Join(faults...)
}

// decisions returns the decisions of a grant that drivers have to follow, each with an example for people.
func (g *Grant) decisions() map[GrantDecision]string {
	out := map[GrantDecision]string{}
	for _, granted := range slices.Concat(g.AddResources, g.TempResources, g.UpdateResources) {
		for decision, value := range map[GrantDecision]string{GrantedZone: granted.ZoneID, GrantedReservation: granted.ReservationID, GrantedResourceGroup: granted.ResourceGroupID} {
			if value != "" {
				out[decision] = fmt.Sprintf("%s of %s", decision, granted.ResourceDefinitionID)
			}
		}
	}
	for _, id := range []struct{ name, value string }{
		{"storageReservationId", g.StorageReservationID}, {"networkReservationId", g.NetworkReservationID}, {"computeReservationId", g.ComputeReservationID},
	} {
		if id.value != "" {
			out[GrantedReservation] = id.name
		}
	}
	if a := g.VimAssets; a != nil && len(a.ComputeResourceFlavours) > 0 {
		out[GrantedFlavour] = string(GrantedFlavour)
	}
	if a := g.VimAssets; a != nil && len(a.SoftwareImages) > 0 {
		out[GrantedImage] = string(GrantedImage)
	}
	var params map[string]json.RawMessage
	if json.Unmarshal(g.AdditionalParams.Reveal(), &params) == nil && len(params) > 0 {
		out[GrantedParams] = fmt.Sprintf("%s (%s)", GrantedParams, enumerate(sortedKeys(params), ", "))
	}
	return out
}

// checkFollowed refuses placements that the InfraDriver does not follow, and warns of other decisions that no driver follows.
func (s *session) checkFollowed(ctx context.Context, g *Grant) error {
	var faults []error
	decided := g.decisions()
	for _, decision := range slices.Sorted(maps.Keys(decided)) {
		switch isPlacement := slices.Contains([]GrantDecision{GrantedZone, GrantedReservation, GrantedResourceGroup}, decision); {
		case isPlacement && s.op.VIMGone, slices.ContainsFunc(s.allDrivers(), func(d any) bool { return follows(d, decision) }):
		case isPlacement:
			faults = append(faults, fmt.Errorf("%s: the driver of VIM type %s cannot place resources so", decided[decision], s.op.VIM.VimType))
		default:
			s.op.Warn(ctx, fmt.Sprintf("the grant decides %s, which has no effect: no driver of the VNF reads it", decided[decision]))
		}
	}
	if kind := s.op.Kind; len(g.ExtVirtualLinks)+len(g.ExtManagedVirtualLinks) > 0 && kind != OpInstantiate && kind != OpChangeExtConn && kind != OpChangeVnfPkg {
		s.op.Warn(ctx, fmt.Sprintf("the grant decides links, which have no effect on an operation %s", kind))
	}
	return errors.Join(faults...)
}

func follows(driver any, decision GrantDecision) bool {
	follower, able := driver.(GrantFollower)
	return able && slices.Contains(follower.FollowsGrants(), decision)
}

// followGrant checks the grant before anything is changed: that it fits the request, that drivers can follow it, and that drivers find no
// fault with the data that it supplies. Without a grant, drivers may lack data that they expected from it.
func (r *run) followGrant(ctx context.Context, opened openPackages, inst *instanceRecord) error {
	if err := r.useGrantedVIM(ctx, opened, inst); err != nil {
		return r.grantFault(err)
	}
	s, err := r.m.session(ctx, opened, inst, r.rec, "grant")
	if err != nil {
		return r.grantFault(err)
	}
	r.mask, s.op.warnings = s.op.mask, &warnings{}
	if g := r.rec.Grant; g != nil {
		request, errRequest := s.grantRequest(inst, r.rec)
		err = errors.Join(errRequest, g.check(request, s.op.Flavour), s.checkFollowed(ctx, g))
	}
	if err == nil {
		err = s.planAgain(ctx, r.rec)
	}
	r.rec.recordWarnings(s.op.warnings)
	return r.grantFault(err)
}

// grantFault returns the error of a grant that the operation cannot follow.
func (r *run) grantFault(err error) error {
	switch {
	case err == nil:
		return nil
	case r.rec.Grant == nil:
		return fmt.Errorf("without a grant: %w", err)
	}
	return fmt.Errorf("grant %s: %w", strings.ToValidUTF8(r.rec.Grant.ID, ""), err)
}

// planAgain has the drivers check the operation with the grant. What was planned when the operation was accepted holds: the NFVO was asked
// for that.
func (s *session) planAgain(ctx context.Context, rec *operationRecord) error {
	s.op.Change = Change{}
	if s.op.Kind == OpScaleToLevel {
		copied := *rec
		return s.planScalings(ctx, &copied)
	}
	if changer, able := s.infra.(PackageChanger); able && s.op.Kind == OpChangeVnfPkg {
		plan, err := s.planPackage(ctx, changer)
		s.op.PackagePlan = plan
		options, _ := rec.Package.To.Request.options() // checked before
		return errors.Join(err, checkLosses(plan.Losses, options), s.validate(ctx, s.op))
	}
	_, err := s.planInfra(ctx, s.op)
	return errors.Join(err, s.validate(ctx, s.op))
}
