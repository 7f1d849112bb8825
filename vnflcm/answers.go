package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
)

// ElasticVDUs is an InfraDriver with VDUs whose number of VNFCs others decide, such as an autoscaler or the values of a chart. After each
// of its methods the Manager compares what Plan announced with what Resources reports, except for elastic VDUs.
type ElasticVDUs interface {
	// ElasticVDUs returns the ids of these VDUs. The Manager calls it only after a method whose result differs from the plan.
	ElasticVDUs(ctx context.Context, op *Operation) ([]string, error)
}

// difference is one between the plan of an InfraDriver and the resources that it reports.
type difference struct {
	vdu, text string
	// tolerable differences are warnings, because the VIM can cause them.
	tolerable bool
}

// answers are the VNFCs that an InfraDriver announced and those that it reports.
type answers struct {
	planned     Change
	before, now []VNFC // before: when the operation began
}

// checkPlan refuses a plan with a VDU that neither the flavour nor the VNF has.
func (op *Operation) checkPlan(planned Change) error {
	var faults []string
	for _, v := range slices.Concat(planned.Added, planned.Removed, planned.Replaced) {
		fault := fmt.Sprintf("Plan announced a VNFC of VDU %q, the flavour %s has %s", v.VDU, op.Flavour.ID, op.vduNames())
		if !op.hasVDU(v.VDU, op.VNFCs) && !slices.Contains(faults, fault) {
			faults = append(faults, fault)
		}
	}
	return answerError(faults)
}

// answerError returns nil if there are no faults.
func answerError(faults []string) error {
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrDriverAnswer, enumerate(faults, "; "))
}

// hasVDU reports whether the flavour has a VDU. A VNFC that an earlier version has recorded may have another one.
func (op *Operation) hasVDU(id string, recorded []VNFC) bool {
	return op.Flavour.VDU(id) != nil || slices.ContainsFunc(recorded, func(v VNFC) bool { return v.VDU == id })
}

// vduNames lists the VDUs of the flavour for an error.
func (op *Operation) vduNames() string {
	var ids []string
	for _, v := range op.Flavour.VDUs {
		ids = append(ids, v.ID)
	}
	return enumerate(ids, ", ")
}

// checkResources compares the resources that the driver reports after a phase with the package and with the plan. before are the VNFCs
// of the VNF when the operation began.
func (s *session) checkResources(ctx context.Context, before []VNFC, now Resources) error {
	if s.op.Kind == OpTerminate {
		return now.checkNone()
	}
	if err := s.checkKnown(ctx, before, now.VNFCs); err != nil {
		return err
	}
	list := answers{planned: s.op.Change, before: before, now: now.VNFCs}.differences()
	elastic, err := s.elasticVDUs(ctx, list)
	if err != nil {
		return err
	}
	var faults []string
	for _, d := range list {
		switch {
		case slices.Contains(elastic, d.vdu):
		case d.tolerable:
			s.op.Warn(ctx, s.op.phase+": "+d.text)
		default:
			faults = append(faults, d.text)
		}
	}
	return answerError(faults)
}

// elasticVDUs asks the driver for them if there are differences.
func (s *session) elasticVDUs(ctx context.Context, list []difference) (vdus []string, err error) {
	driver, able := s.infra.(ElasticVDUs)
	if len(list) == 0 || !able {
		return nil, nil
	}
	err = s.call(ctx, func() (err error) { vdus, err = driver.ElasticVDUs(ctx, s.op); return err })
	if err != nil {
		return nil, fmt.Errorf("reading the elastic VDUs: %w", err)
	}
	return vdus, nil
}

// checkNone finds resources that a termination has left.
func (r Resources) checkNone() error {
	var left []string
	for _, v := range r.VNFCs {
		left = append(left, v.shown())
	}
	for _, other := range []struct {
		kind string
		n    int
	}{{"connection points", len(r.ConnectionPoints)}, {"virtual links", len(r.VirtualLinks)}, {"storages", len(r.Storages)}, {"node ports", len(r.NodePorts)}} {
		if other.n > 0 {
			left = append(left, fmt.Sprintf("%d %s", other.n, other.kind))
		}
	}
	if len(left) == 0 {
		return nil
	}
	return answerError([]string{"announced the removal of everything, reported " + enumerate(left, ", ")})
}

// checkKnown finds VNFCs without an id, with the id of another VNFC, of unknown VDUs, and with unknown connection points.
func (s *session) checkKnown(ctx context.Context, before, now []VNFC) error {
	var added map[string]string
	if namer, able := s.infra.(ConnectionPointNamer); able {
		err := s.call(ctx, func() (err error) { added, err = namer.ConnectionPoints(s.op); return err })
		if err != nil {
			return fmt.Errorf("reading the names of connection points: %w", err)
		}
	}
	var faults []string
	seen := map[string]string{}
	for _, v := range now {
		switch first, twice := seen[v.ID]; {
		case v.ID == "":
			faults = append(faults, fmt.Sprintf("a VNFC of VDU %s with the resource %q has no id", v.VDU, v.ResourceID))
		case twice:
			faults = append(faults, fmt.Sprintf("two VNFCs have the id %s: the resources %q and %q", v.ID, first, v.ResourceID))
		}
		seen[v.ID] = v.ResourceID
		if !s.op.hasVDU(v.VDU, before) {
			faults = append(faults, fmt.Sprintf("VNFC %s is reported with VDU %q, the flavour %s has %s", v.shown(), v.VDU, s.op.Flavour.ID, s.op.vduNames()))
			continue
		}
		for _, cp := range v.CPs {
			if _, named := added[cp.CPD]; !named && !s.op.hasCP(v.VDU, cp.CPD, before) {
				faults = append(faults, fmt.Sprintf("VNFC %s is reported with the connection point %q, VDU %s has %s", v.shown(), cp.CPD, v.VDU, s.op.cpNames(v.VDU)))
			}
		}
	}
	return answerError(faults)
}

// hasCP reports whether the flavour gives a VDU a connection point, or a recorded VNFC of the VDU has it.
func (op *Operation) hasCP(vdu, cpd string, recorded []VNFC) bool {
	return slices.ContainsFunc(op.Flavour.CPs, func(cp tosca.ConnectionPoint) bool { return cp.ID == cpd && (cp.VDU == vdu || cp.VDU == "") }) ||
		slices.ContainsFunc(recorded, func(v VNFC) bool { _, has := v.CP(cpd); return has && v.VDU == vdu })
}

// cpNames lists the connection points of a VDU for an error.
func (op *Operation) cpNames(vdu string) string {
	var ids []string
	for _, cp := range op.Flavour.CPs {
		if cp.VDU == vdu {
			ids = append(ids, cp.ID)
		}
	}
	if len(ids) == 0 {
		return "no connection points"
	}
	return enumerate(ids, ", ")
}

func (a answers) differences() []difference {
	return slices.Concat(a.ofAdded(), a.ofRemoved(), a.ofReplaced(), a.ofOthers())
}

// ofAdded compares the numbers of new VNFCs.
func (a answers) ofAdded() (out []difference) {
	announced, reported := map[string]int{}, map[string]int{}
	for _, v := range a.planned.Added {
		announced[v.VDU]++
	}
	before := byID(a.before)
	for _, v := range a.now {
		if _, known := before[v.ID]; !known {
			reported[v.VDU]++
			announced[v.VDU] += 0
		}
	}
	for _, vdu := range sortedKeys(announced) {
		if announced[vdu] != reported[vdu] {
			out = append(out, difference{vdu, fmt.Sprintf("announced %d new VNFCs of %s, reported %d", announced[vdu], vdu, reported[vdu]), reported[vdu] > announced[vdu]})
		}
	}
	return out
}

// ofRemoved finds VNFCs that were to be removed and exist.
func (a answers) ofRemoved() (out []difference) {
	now := byID(a.now)
	for _, v := range a.planned.Removed {
		if still, exists := now[v.ID]; exists {
			out = append(out, difference{v.VDU, fmt.Sprintf("announced %s as removed, reported it with the resource %q", v.shown(), still.ResourceID), false})
		}
	}
	return out
}

// ofReplaced finds VNFCs that were to be replaced, and either do not exist or have the same resource.
func (a answers) ofReplaced() (out []difference) {
	now := byID(a.now)
	for _, v := range a.planned.Replaced {
		other, exists := now[v.ID]
		switch {
		case !exists:
			out = append(out, difference{v.VDU, fmt.Sprintf("announced %s as replaced, reported no VNFC with this id", v.shown()), false})
		case other.sameResource(v):
			out = append(out, difference{v.VDU, fmt.Sprintf("announced %s as replaced, reported the same resource %q", v.shown(), other.ResourceID), true})
		}
	}
	return out
}

// ofOthers finds VNFCs that are missing although the operation is not for them.
func (a answers) ofOthers() (out []difference) {
	now, planned := byID(a.now), byID(slices.Concat(a.planned.Removed, a.planned.Replaced))
	for _, v := range a.before {
		_, exists := now[v.ID]
		if _, changed := planned[v.ID]; !exists && !changed {
			out = append(out, difference{v.VDU, fmt.Sprintf("announced no change of %s, no longer reported it", v.shown()), true})
		}
	}
	return out
}

func byID(list []VNFC) map[string]VNFC {
	out := map[string]VNFC{}
	for _, v := range list {
		out[v.ID] = v
	}
	return out
}

// shown names a VNFC in an error or a warning.
func (v VNFC) shown() string {
	if v.Name == "" || v.Name == v.ID {
		return v.ID
	}
	return v.ID + " (" + v.Name + ")"
}

// enumerate joins the first texts, and adds how many there are beside them.
func enumerate(list []string, separator string) string {
	const most = 10
	if len(list) <= most {
		return strings.Join(list, separator)
	}
	return fmt.Sprintf("%s%sand %d more", strings.Join(list[:most], separator), separator, len(list)-most)
}

// inPhase adds the name of a phase to the errors that lack it. An error that is cause, with which the context has ended, stays as it is.
func inPhase(phase string, cause, err error) error {
	if list := joined(err); list != nil {
		var out []error
		for _, each := range list {
			out = append(out, inPhase(phase, cause, each))
		}
		return errors.Join(out...)
	}
	_, isStep := errors.AsType[*StepError](err)
	if err == nil || isStep || cause != nil && errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%s: %w", phase, err)
}
