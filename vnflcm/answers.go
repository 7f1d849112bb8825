package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/tosca"
)

// ElasticVDUs is an InfraDriver with VDUs whose number of VNFCs others decide, such as an autoscaler or the values of a chart. After each
// of its methods the Manager compares what Resources reports with what Plan announced and with the scale levels, except for elastic VDUs.
type ElasticVDUs interface {
	// ElasticVDUs returns the ids of these VDUs. The Manager calls it only after a method whose result differs from the plan or the levels.
	ElasticVDUs(ctx context.Context, op *Operation) ([]string, error)
}

// difference is one between the request, the plan of an InfraDriver, and the resources that it reports.
type difference struct {
	vdu, text string
	// tolerable differences are warnings, because the VIM can cause them.
	tolerable bool
}

// answers are the VNFCs that an InfraDriver announced and those that it reports, with those that the request asks for.
type answers struct {
	planned     Change
	before, now []VNFC         // before: when the operation began
	due         map[string]int // by VDU, of an instantiation or a scaling
	targets     []VNFC         // of a heal
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
	asked := answers{planned: s.op.announced(), before: before, now: now.VNFCs}
	if err := asked.compareWith(s.op); err != nil {
		return err
	}
	list := asked.differences()
	elastic, err := s.elasticVDUs(ctx, list)
	if err != nil {
		return err
	}
	var faults []string
	for _, d := range list {
		switch {
		case slices.Contains(elastic, d.vdu), s.op.Batch.hasRelease(d.vdu):
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
		}
	}
	unknown, err := s.unknownCPs(ctx, before, now)
	if err != nil {
		return err
	}
	return answerError(append(faults, unknown...))
}

// unknownCPs finds connection points that the VDUs lack. A driver that is a ConnectionPointNamer may read further connection points from the
// VIM, such as those of an adopted VNF: these are warnings.
func (s *session) unknownCPs(ctx context.Context, before, now []VNFC) (faults []string, err error) {
	var added map[string]string
	if namer, able := s.infra.(ConnectionPointNamer); able {
		err := s.call(ctx, func() (err error) { added, err = namer.ConnectionPoints(s.op); return err })
		if err != nil {
			return nil, fmt.Errorf("reading the names of connection points: %w", err)
		}
	}
	for _, v := range now {
		for _, cp := range v.CPs {
			if _, named := added[cp.CPD]; named || !s.op.hasVDU(v.VDU, before) || s.op.hasCP(v.VDU, cp.CPD, before) {
				continue
			}
			text := fmt.Sprintf("VNFC %s is reported with the connection point %q, VDU %s has %s", v.shown(), cp.CPD, v.VDU, s.op.cpNames(v.VDU))
			if added != nil {
				s.op.Warn(ctx, s.op.phase+": "+text)
				continue
			}
			faults = append(faults, text)
		}
	}
	return faults, nil
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

// compareWith adds what the request of an operation asks for. VNFCs that the VNF had lost, or had too many, before a scaling are left out:
// the driver need not make them good.
func (a *answers) compareWith(op *Operation) error {
	switch {
	case op.Heal != nil:
		a.targets = op.HealTargets()
		return nil
	case op.RollingBack || op.Instantiate == nil && op.Scale == nil:
		return nil
	}
	want, err := op.Instances()
	if err != nil {
		return err
	}
	var had tosca.Size
	if op.Scale != nil {
		if had, err = op.Flavour.SizeAt(op.Initial.targetSize(), op.Before); err != nil {
			return err
		}
	}
	have := numbersOf(a.before)
	a.due = map[string]int{}
	for vdu, n := range want {
		if more := n - had.Instances[vdu]; more > 0 {
			a.due[vdu] = max(0, min(more, n-have[vdu]))
		} else {
			a.due[vdu] = min(0, max(more, n-have[vdu]))
		}
	}
	return nil
}

func (a answers) differences() []difference {
	return slices.Concat(a.ofAdded(), a.ofRemoved(), a.ofReplaced(), a.ofTargets(), a.ofOthers())
}

// ofAdded compares the numbers of new VNFCs.
func (a answers) ofAdded() (out []difference) {
	announced, reported := numbersOf(a.planned.Added), numbersOf(without(a.now, a.before))
	for _, vdu := range a.vdus() {
		least := max(announced[vdu], a.due[vdu])
		if reported[vdu] >= least && reported[vdu] == announced[vdu] {
			continue
		}
		text := fmt.Sprintf("announced %d new VNFCs of %s, reported %d", announced[vdu], vdu, reported[vdu])
		if announced[vdu] < least {
			text += fmt.Sprintf("; the scale levels ask for %d", least)
		}
		out = append(out, difference{vdu, text, reported[vdu] >= least})
	}
	return out
}

// ofRemoved finds VNFCs that were to be removed and exist, and scale-ins that removed too few.
func (a answers) ofRemoved() (out []difference) {
	now := byID(a.now)
	for _, v := range a.planned.Removed {
		if still, exists := now[v.ID]; exists {
			out = append(out, difference{v.VDU, fmt.Sprintf("announced %s as removed, reported it with the resource %q", v.shown(), still.ResourceID), false})
		}
	}
	announced, gone := numbersOf(a.planned.Removed), numbersOf(without(a.before, a.now))
	for _, vdu := range a.vdus() {
		if asked := -a.due[vdu]; announced[vdu] < asked && gone[vdu] < asked {
			out = append(out, difference{vdu, fmt.Sprintf("announced the removal of %d VNFCs of %s, removed %d; the scale levels ask for %d", announced[vdu], vdu, gone[vdu], asked), false})
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

// ofTargets finds VNFCs that were to be healed, and of which the driver neither announced a change nor changed the resource.
func (a answers) ofTargets() (out []difference) {
	now, planned := byID(a.now), byID(a.planned.Replaced)
	for _, v := range a.targets {
		other, exists := now[v.ID]
		if _, announced := planned[v.ID]; exists && !announced && other.sameResource(v) {
			out = append(out, difference{v.VDU, fmt.Sprintf("the request is to heal %s: announced no change of it, reported the same resource %q", v.shown(), v.ResourceID), true})
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

// vdus returns the ids of all VDUs that VNFCs have or that the scale levels are about.
func (a answers) vdus() []string {
	ids := numbersOf(slices.Concat(a.before, a.now, a.planned.Added))
	maps.Copy(ids, a.due)
	return sortedKeys(ids)
}

// without returns the VNFCs of a list whose ids another list does not have.
func without(list, other []VNFC) []VNFC {
	known := byID(other)
	return slices.DeleteFunc(slices.Clone(list), func(v VNFC) bool { _, has := known[v.ID]; return has })
}

// numbersOf counts VNFCs by their VDUs.
func numbersOf(list []VNFC) map[string]int {
	out := map[string]int{}
	for _, v := range list {
		out[v.VDU]++
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
