package vnflcm

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
)

// grantRequest returns the request for the grant of an operation. It depends on nothing but the records and the package.
func (s *session) grantRequest(inst *instanceRecord, rec *operationRecord) (out GrantRequest, err error) {
	out = GrantRequest{VnfInstanceID: inst.Instance.ID, VnfLcmOpOccID: rec.Occ.ID, VnfdID: inst.Instance.VnfdID, FlavourID: inst.Initial.FlavourID,
		Operation: rec.Occ.Operation, IsAutomaticInvoked: rec.Occ.IsAutomaticInvocation}
	connection := inst.vimConnection()
	out.AddResources, out.UpdateResources, out.RemoveResources = rec.Planned.requested(connection)
	if rec.Package != nil {
		out.DstVnfdID = rec.Package.To.VnfdID
		for i := range out.AddResources { // the other ones have VDUs of the VNFD that the VNF has
			out.AddResources[i].VnfdID = out.DstVnfdID
		}
	}
	if s.op.Instantiate != nil {
		out.InstantiationLevelID = s.op.Instantiate.InstantiationLevelID
	}
	refs := rec.constrained(connection)
	out.PlacementConstraints = placementConstraints(s.op.Flavour, refs)
	if all := slices.Concat(refs.placed, refs.staying); len(refs.placed) > 0 && len(all) > 1 {
		out.VimConstraints = []VimConstraint{{Resource: constraintRefs(all)}} // the Manager has one VIM for each VNF
	}
	out.AdditionalParams, err = s.publicRequestParams()
	return out, err
}

// requested describes the changes of a plan in a request for a grant.
func (c Change) requested(connection string) (add, update, remove []ResourceDefinition) {
	add, update, remove = definitions("add", 0, c.Added), definitions("update", 0, c.Replaced), definitions("remove", 0, c.Removed)
	for _, list := range [][]ResourceDefinition{add, update, remove} {
		for i := range list {
			if handle := list[i].ResourceID; handle != nil {
				handle.VimConnectionID = connection
			}
		}
	}
	return add, update, remove
}

// definitions describes VNFCs in a request for a grant. Their numbers begin with first.
func definitions(verb string, first int, vnfcs []VNFC) []ResourceDefinition {
	var out []ResourceDefinition
	for i, v := range vnfcs {
		d := ResourceDefinition{ID: fmt.Sprintf("%s-%s-%d", verb, v.VDU, first+i), Type: "COMPUTE", VduID: v.VDU, ResourceTemplateID: v.VDU, VnfcID: v.ID}
		if v.ResourceID != "" {
			d.ResourceID = &ResourceHandle{ResourceID: v.ResourceID}
		}
		out = append(out, d)
	}
	return out
}

// constrainedRef is a VNFC of a constraint.
type constrainedRef struct {
	vdu string
	ConstraintResourceRef
}

// constrainedRefs are the VNFCs that exist after an operation: those that the operation places, and those that stay where they are.
type constrainedRefs struct{ placed, staying []constrainedRef }

// constrained returns the VNFCs that constraints can name.
func (rec *operationRecord) constrained(connection string) (out constrainedRefs) {
	add, update, _ := rec.Planned.requested(connection)
	for _, d := range slices.Concat(add, update) {
		out.placed = append(out.placed, constrainedRef{d.VduID, ConstraintResourceRef{IDType: "GRANT", ResourceID: d.ID}})
	}
	for _, v := range rec.VNFCs {
		gone := slices.ContainsFunc(slices.Concat(rec.Planned.Removed, rec.Planned.Replaced), v.same)
		if !gone && v.ResourceID != "" {
			out.staying = append(out.staying, constrainedRef{v.VDU, ConstraintResourceRef{IDType: "RES_MGMT", ResourceID: v.ResourceID, VimConnectionID: connection}})
		}
	}
	return out
}

func constraintRefs(list []constrainedRef) (out []ConstraintResourceRef) {
	for _, r := range list {
		out = append(out, r.ConstraintResourceRef)
	}
	return out
}

// constraintScopes are the scopes of SOL001 that requests for grants have. The other ones are for links.
var constraintScopes = map[string]string{"nfvi_node": "NFVI_NODE", "zone": "ZONE", "zone_group": "ZONE_GROUP", "nfvi_pop": "NFVI_POP"}

// placementConstraints returns the affinity rules of a flavour for the VNFCs that an operation places.
func placementConstraints(f *tosca.Flavour, refs constrainedRefs) (out []PlacementConstraint) {
	for _, rule := range f.Affinity {
		scope, known := constraintScopes[strings.ToLower(rule.Scope)]
		targets := targetsOf(f, rule)
		isTarget := func(r constrainedRef) bool { return slices.Contains(targets, r.vdu) }
		other := func(r constrainedRef) bool { return !isTarget(r) }
		placed := slices.DeleteFunc(slices.Clone(refs.placed), other)
		all := slices.Concat(placed, slices.DeleteFunc(slices.Clone(refs.staying), other))
		if !known || len(placed) == 0 || len(all) < 2 {
			continue
		}
		kind := "AFFINITY"
		if rule.Anti {
			kind = "ANTI_AFFINITY"
		}
		out = append(out, PlacementConstraint{AffinityOrAntiAffinity: kind, Scope: scope, Resource: constraintRefs(all)})
	}
	return out
}

// targetsOf returns the targets of a rule, with the members of groups in the place of groups.
func targetsOf(f *tosca.Flavour, rule tosca.AffinityRule) (out []string) {
	for _, target := range rule.Targets {
		i := slices.IndexFunc(f.PlacementGroups, func(g tosca.PlacementGroup) bool { return g.ID == target })
		if i < 0 {
			out = append(out, target)
			continue
		}
		out = append(out, f.PlacementGroups[i].Members...)
	}
	return out
}

// publicRequestParams returns the additionalParams of the request without the values that are secret, or quote a secret: an NFVO needs no
// login of a machine.
func (s *session) publicRequestParams() (Params, error) {
	given := s.op.RequestParams()
	if given.IsZero() {
		return Params{}, nil
	}
	var tree map[string]any
	if err := decodeUseNumber(given.Reveal(), &tree); err != nil {
		return Params{}, err
	}
	declaredSecret, declaredPublic := declared(s.allDrivers()...)
	allowed := newPathSet(s.m.cfg.PublicParams...)
	public := append(newPathSet(declaredPublic...), allowed.key(additionalParamsPath)...)
	return NewParams(s.removeSecrets("", tree, newPathSet(declaredSecret...), public))
}

// removeSecrets returns the value of an attribute of that name without secrets; nil if it is one.
func (s *session) removeSecrets(name string, value any, secret, public pathSet) any {
	switch v := value.(type) {
	case map[string]any:
		if secretName(name) && len(public) == 0 { // the attributes of an object credentials may have any name
			return nil
		}
		out := map[string]any{}
		for key, child := range v {
			if left := s.removeSecrets(key, child, secret.key(key), public.key(key)); left != nil {
				out[key] = left
			}
		}
		return out
	case []any:
		out := []any{}
		for _, child := range v {
			if left := s.removeSecrets(name, child, secret.items(), public.items()); left != nil {
				out = append(out, left)
			}
		}
		return out
	case string:
		if s.op.Mask(v) != v {
			return nil
		}
	}
	if len(findSecrets(name, value, secret, public)) > 0 {
		return nil
	}
	return value
}
