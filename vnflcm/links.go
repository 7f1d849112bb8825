package vnflcm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// links are the external and the managed links that hold when the operation has succeeded.
func (rec *operationRecord) links(inst *instanceRecord) ([]ExtVirtualLinkData, []ExtManagedVirtualLinkData) {
	ext, managed := inst.Links, inst.ManagedLinks
	var given, granted []ExtVirtualLinkData
	if g := rec.Grant; g != nil {
		granted = g.ExtVirtualLinks
	}
	switch rec.Occ.Operation {
	case OpInstantiate:
		given, managed = inst.Initial.ExtVirtualLinks, inst.Initial.ExtManagedVirtualLinks
		if g := rec.Grant; g != nil && len(g.ExtManagedVirtualLinks) > 0 {
			managed = g.ExtManagedVirtualLinks
		}
	case OpChangeExtConn:
		if rec.Occ.OperationState == RollingBack {
			return ext, managed
		}
		var request ChangeExtVnfConnectivityRequest
		if json.Unmarshal(rec.Occ.OperationParams.Reveal(), &request) == nil { // it was read before
			given = request.ExtVirtualLinks
		}
	case OpChangeVnfPkg:
		if rec.Occ.OperationState == RollingBack {
			return ext, managed
		}
		if request, err := rec.packageRequest(); err == nil {
			ext = rec.Package.To.carryLinks(ext)
			given, managed = request.ExtVirtualLinks, replacedLinks(managed, request.ExtManagedVirtualLinks)
		}
		if g := rec.Grant; g != nil {
			managed = replacedLinks(managed, g.ExtManagedVirtualLinks)
		}
	default:
		return ext, managed
	}
	return moved(moved(ext, given), granted), managed
}

// connect sets the links of the operation for the drivers.
func (op *Operation) connect(inst *instanceRecord, rec *operationRecord) {
	op.Connectivity, op.ManagedLinks = rec.links(inst)
}

// replacedLinks returns managed links of which those for the same descriptors are replaced.
func replacedLinks(links, change []ExtManagedVirtualLinkData) []ExtManagedVirtualLinkData {
	out := slices.DeleteFunc(slices.Clone(links), func(l ExtManagedVirtualLinkData) bool {
		return slices.ContainsFunc(change, func(c ExtManagedVirtualLinkData) bool { return c.Link() == l.Link() })
	})
	return append(out, change...)
}

// moved are links after a change: a link of the same id is another network now, and a connection point is only
// on the link that names it last (SOL003 v2.6.1 5.4.11).
func moved(links, change []ExtVirtualLinkData) []ExtVirtualLinkData {
	out := slices.Clone(links)
	for _, c := range change {
		for i := range out {
			out[i] = out[i].without(c.ExtCps)
		}
		at := slices.IndexFunc(out, func(l ExtVirtualLinkData) bool { return c.ID != "" && l.ID == c.ID })
		if at < 0 {
			out = append(out, c)
			continue
		}
		stay := out[at].ExtCps
		out[at] = c
		out[at].ExtCps = slices.Concat(stay, c.ExtCps)
	}
	return slices.DeleteFunc(out, func(l ExtVirtualLinkData) bool { return len(l.ExtCps) == 0 && len(change) > 0 })
}

// without takes connection points off a link: single configurations of a descriptor where both sides name
// them, else all of the descriptor.
func (l ExtVirtualLinkData) without(cps []VnfExtCpData) ExtVirtualLinkData {
	var stay []VnfExtCpData
	for _, have := range l.ExtCps {
		taken := false
		for _, c := range cps {
			if c.CpdID != have.CpdID {
				continue
			}
			have.CpConfig = have.CpConfig.without(c.CpConfig)
			taken = taken || len(have.CpConfig) == 0
		}
		if !taken {
			stay = append(stay, have)
		}
	}
	l.ExtCps = stay
	return l
}

func (c ExtCpConfigs) without(other ExtCpConfigs) ExtCpConfigs {
	named := func(list ExtCpConfigs) bool {
		return !slices.ContainsFunc(list, func(c VnfExtCpConfig) bool { return c.CpInstanceID == "" })
	}
	if !named(c) || !named(other) || len(other) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c), func(mine VnfExtCpConfig) bool {
		return slices.ContainsFunc(other, func(o VnfExtCpConfig) bool { return o.CpInstanceID == mine.CpInstanceID })
	})
}

// checkConnectivity finds the faults of a ChangeExtVnfConnectivityRequest that need no driver.
func (op *Operation) checkConnectivity() error {
	if len(op.ChangeExtConn.ExtVirtualLinks) == 0 {
		return &ParamError{Path: "extVirtualLinks", Reason: "is required"}
	}
	return op.checkLinks(op.ChangeExtConn.ExtVirtualLinks)
}

// checkLinks finds the faults of external links that a request changes.
func (op *Operation) checkLinks(links []ExtVirtualLinkData) error {
	var faults []error
	for i, link := range links {
		path := fmt.Sprintf("extVirtualLinks[%d]", i)
		if link.ResourceID == "" {
			faults = append(faults, &ParamError{Path: path + ".resourceId", Reason: "is required: the network of the VIM"})
		}
		if slices.ContainsFunc(links[:i], func(l ExtVirtualLinkData) bool { return link.ID != "" && l.ID == link.ID }) {
			faults = append(faults, &ParamError{Path: path + ".id", Value: link.ID, Reason: "comes twice"})
		}
		if len(link.ExtCps) == 0 {
			faults = append(faults, &ParamError{Path: path + ".extCps", Reason: "is required"})
		}
		for j, cp := range link.ExtCps {
			if !hasCP(op.Flavour, cp.CpdID) {
				faults = append(faults, &ParamError{Path: fmt.Sprintf("%s.extCps[%d].cpdId", path, j), Value: cp.CpdID,
					Reason: "the flavour has no such connection point; it has " + enumerate(problem.NearestFirst(cp.CpdID, cpdIDs(op.Flavour)), ", ")})
			}
		}
	}
	return errors.Join(faults...)
}

// cpdIDs returns the ids of the connection points that a request can connect.
func cpdIDs(f *tosca.Flavour) []string {
	ids := map[string]bool{}
	for _, cp := range f.CPs {
		ids[cp.ID] = true
	}
	for _, cp := range f.ExternalCPs {
		ids[cp.ID] = true
	}
	return sortedKeys(ids)
}

func hasCP(f *tosca.Flavour, cpd string) bool {
	return slices.ContainsFunc(f.CPs, func(cp tosca.ConnectionPoint) bool { return cp.ID == cpd }) ||
		slices.ContainsFunc(f.ExternalCPs, func(cp tosca.ExternalCP) bool { return cp.ID == cpd || cp.Requirement == cpd })
}

// info is the link as an instance shows it, on a VIM unless it names another.
func (l ExtVirtualLinkData) info(vim string) ExtVirtualLinkInfo {
	out := ExtVirtualLinkInfo{ID: l.ID, ResourceHandle: ResourceHandle{VimConnectionID: cmp.Or(l.VimConnectionID, vim),
		ResourceProviderID: l.ResourceProviderID, ResourceID: l.ResourceID}}
	for _, cp := range l.ExtCps {
		out.CurrentVnfExtCpData = append(out.CurrentVnfExtCpData, VnfExtCpData{CpdID: cp.CpdID, CpConfig: cp.configured()})
	}
	for _, p := range l.ExtLinkPorts {
		p.ResourceHandle.VimConnectionID = cmp.Or(p.ResourceHandle.VimConnectionID, vim)
		out.ExtLinkPorts = append(out.ExtLinkPorts, ExtLinkPortInfo(p))
	}
	return out
}

// configured returns the configurations of the connection points with an id for each: version 2 of the API has them as
// keys. Without one,
// addresses are dynamic.
func (d VnfExtCpData) configured() ExtCpConfigs {
	out := slices.Clone(d.CpConfig)
	if len(out) == 0 {
		out = make(ExtCpConfigs, 1)
	}
	for i, config := range out {
		if config.LinkPortID == "" && len(config.CpProtocolData) == 0 {
			out[i].CpProtocolData = []CpProtocolData{{LayerProtocol: ipOverEthernet}}
		}
		for n := i; out[i].CpInstanceID == ""; n++ {
			id := fmt.Sprintf("%s-%d", d.CpdID, n)
			if !slices.ContainsFunc(out, func(c VnfExtCpConfig) bool { return c.CpInstanceID == id }) {
				out[i].CpInstanceID = id
			}
		}
	}
	return out
}

// Link is the internal virtual link of the VNFD that the network stands for.
func (l ExtManagedVirtualLinkData) Link() string {
	if l.VnfVirtualLinkDescID != "" {
		return l.VnfVirtualLinkDescID
	}
	return l.VirtualLinkDescID
}

func (l ExtManagedVirtualLinkData) info(vim string) ExtManagedVirtualLinkInfo {
	return ExtManagedVirtualLinkInfo{ID: l.ID, VnfVirtualLinkDescID: l.Link(), NetworkResource: ResourceHandle{
		VimConnectionID: cmp.Or(l.VimConnectionID, vim), ResourceProviderID: l.ResourceProviderID, ResourceID: l.ResourceID}}
}

// GrantedZones returns the zones of the VIM that the grant assigns to the VNFCs of a VDU which the operation adds or
// replaces, in their order in Change; empty where it names none.
func (op *Operation) GrantedZones(vdu string) []string {
	var out []string
	for _, c := range []struct {
		verb   string
		before []VNFC
		vnfcs  []VNFC
		answer func(*Grant) []GrantInfo
	}{
		{"add", op.plannedBefore.Added, op.planned.Added, func(g *Grant) []GrantInfo { return g.AddResources }},
		{"update", op.plannedBefore.Replaced, op.planned.Replaced, func(g *Grant) []GrantInfo { return g.UpdateResources }},
	} {
		for _, d := range definitions(c.verb, len(c.before), c.vnfcs) {
			if d.VduID != vdu {
				continue
			}
			zone := ""
			if op.Grant != nil {
				zone = op.Grant.zoneOf(c.answer(op.Grant), d.ID)
			}
			out = append(out, zone)
		}
	}
	return out
}

func (g *Grant) zoneOf(answers []GrantInfo, definition string) string {
	for _, a := range answers {
		for _, z := range g.Zones {
			if a.ResourceDefinitionID == definition && a.ZoneID != "" && a.ZoneID == z.ID {
				return z.ZoneID
			}
		}
	}
	return ""
}

// checkDriver refuses parts of the request that the driver of the VIM does not support.
func (s *session) checkDriver() error {
	if _, able := s.infra.(ConnectivityChanger); s.op.Kind == OpChangeExtConn && !able {
		return fmt.Errorf("%w: the driver of VIM type %s cannot change external connectivity", ErrNotSupported, s.op.VIM.VimType)
	}
	if _, able := s.infra.(Operator); s.op.Kind == OpOperate && !able {
		return fmt.Errorf("%w: the driver of VIM type %s cannot stop and start a VNF", ErrNotSupported, s.op.VIM.VimType)
	}
	if _, able := s.infra.(PackageChanger); s.op.Kind == OpChangeVnfPkg && !able {
		return fmt.Errorf("%w: the driver of VIM type %s cannot change packages", ErrNotSupported, s.op.VIM.VimType)
	}
	return nil
}

func sameLink(a, b ExtVirtualLinkData) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}
