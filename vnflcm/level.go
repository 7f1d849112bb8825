package vnflcm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/tosca"
)

// ScaleVnfToLevelRequest (SOL003 v2.6.1 5.5.2.6). Exactly one of InstantiationLevelID and ScaleInfo is set.
type ScaleVnfToLevelRequest struct {
	InstantiationLevelID string `json:"instantiationLevelId,omitempty"`
	// ScaleInfo gives the scale levels of aspects. SOL003 requires every aspect of the flavour and does not say what a
	// missing aspect means. Here a missing aspect keeps its level.
	ScaleInfo        []ScaleInfo `json:"scaleInfo,omitempty"`
	AdditionalParams Params      `json:"additionalParams,omitzero"`
}

// ScaleToLevel starts the scaling of a VNF instance to an instantiation level, or of several aspects to scale levels
// (SOL003 v2.6.1 5.4.6). ScaleInfo is refused if the VNFD says arbitrary_target_levels_supported: false; SOL001 has no
// default for a VNFD that does not configure the operation, and such a VNFD allows it. Other errors are as for Scale.
//
// The operation is one occurrence of SCALE_TO_LEVEL. It scales one aspect after the other, by what Scale would do: the
// scale-outs before the scale-ins, both in the order of the aspects' names. If the VNFD says
// scaling_by_more_than_one_step_supported: false, each step is one scaling. Drivers see each scaling as an operation of
// kind OpScale. The names of its phases end in its number: scale_start.1, scale.1 and scale_end.1.
//
// All scalings are planned and checked before anything is touched. A scaling of a VDU that an earlier one has scaled is
// planned again when it begins, in a separate phase (scale_plan.2): only then is it known which VNFCs there are.
// If the VNF is at the target already, the operation completes and no driver is called.
//
// Rollback undoes the scalings that have begun, the last one first. After a scale-in has begun it is refused
// (ErrNotSupported), as for an operation that only scales in: the removed VNFCs would not come back.
func (m *Manager) ScaleToLevel(ctx context.Context, instanceID string, req ScaleVnfToLevelRequest) (string, error) {
	return m.begin(ctx, instanceID, OpScaleToLevel, req, nil)
}

// checkDocument refuses list items without a scale level: read as level 0, they would remove VNFCs.
func (*ScaleVnfToLevelRequest) checkDocument(document []byte) error {
	var given struct {
		ScaleInfo any `json:"scaleInfo"`
	}
	if json.Unmarshal(document, &given) != nil || given.ScaleInfo == nil {
		return nil
	}
	list, isList := given.ScaleInfo.([]any)
	if !isList {
		list = []any{given.ScaleInfo}
	}
	var faults []error
	for i, item := range list {
		info, _ := item.(map[string]any)
		for _, name := range []string{"aspectId", "scaleLevel"} {
			if info[name] == nil {
				faults = append(faults, &ParamError{Path: fmt.Sprintf("scaleInfo[%d].%s", i, name), Reason: "is required"})
			}
		}
	}
	return errors.Join(faults...)
}

// scaling is the scaling of one aspect in a SCALE_TO_LEVEL.
type scaling struct {
	Request ScaleVnfRequest `json:"request"` // without additionalParams
	Levels  map[string]int  `json:"levels"`  // when it has succeeded
	Planned Change          `json:"planned,omitzero"`
	Change  Change          `json:"change,omitzero"` // Planned until the resources have been changed
	// Replan is set if an earlier scaling changes the same VDU.
	Replan bool `json:"replan,omitempty"`
}

// The phase that plans a scaling again; the name is stored.
const scalePlanPhase = "scale_plan"

// scaleToLevelPhases are the phases of a SCALE_TO_LEVEL in their order, none if there is nothing to scale.
func (rec *operationRecord) scaleToLevelPhases() []phase {
	if len(rec.Scalings) == 0 {
		return nil
	}
	list := []phase{{name: string(ScaleToLevelStart), hook: ScaleToLevelStart}}
	for i, s := range rec.Scalings {
		phases := around(ScaleStart, scalePhase, InfraDriver.Scale, ScaleEnd)
		if s.Replan {
			phases = append([]phase{{name: scalePlanPhase, plan: true}}, phases...)
		}
		for _, p := range phases {
			p.name, p.scaling = phaseName(p.name, i), i+1
			list = append(list, p)
		}
	}
	return append(list, phase{name: string(ScaleToLevelEnd), hook: ScaleToLevelEnd})
}

// begunScalings counts the scalings that have begun to change something.
func (rec *operationRecord) begunScalings() int {
	begun := 0
	for _, p := range rec.scaleToLevelPhases() {
		if p.scaling > 0 && !p.plan {
			begun = p.scaling
		}
		if !slices.Contains(rec.Done, p.name) {
			break
		}
	}
	return begun
}

// undoScalingsPhases are the phases that undo the scalings that have begun, the last scaling first.
func (rec *operationRecord) undoScalingsPhases() []phase {
	list := []phase{{name: "scale_to_level_rollback_start", hook: ScaleToLevelStart}}
	for i := rec.begunScalings() - 1; i >= 0; i-- {
		for _, p := range undoScalePhases() {
			p.name, p.scaling = phaseName(p.name, i), i+1
			list = append(list, p)
		}
	}
	return append(list, phase{name: "scale_to_level_rollback_end", hook: ScaleToLevelEnd})
}

// redoScalings prepares the record for a retry after a failed rollback: the scalings that the rollback has begun to undo
// are due again. To repeat an earlier one would make its driver remove the VNFCs of a later one.
func (rec *operationRecord) redoScalings() {
	first := 0
	for _, p := range rec.undoScalingsPhases() {
		first = max(p.scaling-1, 0)
		if p.scaling > 0 && !slices.Contains(rec.Done, p.name) {
			break
		}
	}
	var done []string
	for _, p := range rec.scaleToLevelPhases() {
		if p.scaling <= first && slices.Contains(rec.Done, p.name) {
			done = append(done, p.name)
		}
	}
	rec.Done = done
	for i := first; i < len(rec.Scalings); i++ {
		rec.Scalings[i].Change = rec.Scalings[i].Planned
	}
}

// undoOf returns what undoing a scaling removes: the VNFCs that it has added and that exist. VNFCs that no scaling has
// recorded belong to the last one, which has failed.
func (rec *operationRecord) undoOf(index int) (undo Change) {
	for _, v := range rec.Undo.Removed {
		made := slices.IndexFunc(rec.Scalings, func(s scaling) bool {
			return slices.ContainsFunc(s.Change.Added, func(added VNFC) bool { return added.ID == v.ID })
		})
		if made < 0 {
			made = rec.begunScalings() - 1
		}
		if made == index {
			undo.Removed = append(undo.Removed, v)
		}
	}
	return undo
}

// vnfcsBefore are the VNFCs that there were when a scaling began.
func (rec *operationRecord) vnfcsBefore(index int) []VNFC {
	list := rec.VNFCs
	for _, s := range rec.Scalings[:index] {
		list = s.Change.expected(list)
	}
	return list
}

// phaseName is the name of a phase of the scaling with that index.
func phaseName(name string, index int) string { return fmt.Sprintf("%s.%d", name, index+1) }

// planScalings plans the scalings of a SCALE_TO_LEVEL and collects the faults of each. It touches nothing.
func (s *session) planScalings(ctx context.Context, rec *operationRecord) error {
	if err := s.findScalings(rec); err != nil {
		return err
	}
	var faults []error
	expected := s.op.VNFCs
	for i := range rec.Scalings {
		op := *s.op
		op.enterScaling(rec, i)
		fault := s.validate(ctx, &op)
		op.VNFCs = expected
		planned, err := s.planInfra(ctx, &op)
		faults = append(faults, s.op.ScaleToLevel.translateFaults(errors.Join(fault, err), op.Scale.AspectID))
		rec.Scalings[i].Planned, rec.Scalings[i].Change = planned, planned
		expected = planned.expected(expected)
	}
	rec.Planned = rec.plannedScalings()
	return joinDistinct(faults...)
}

// findScalings records the scalings that lead from the current scale levels to those of the request.
func (s *session) findScalings(rec *operationRecord) error {
	f, request := s.op.Flavour, s.op.ScaleToLevel
	size, err := f.SizeAt(s.op.Initial.targetSize(), rec.Before)
	if err != nil {
		return paramErrors(err)
	}
	list, err := f.ScaleToLevel(size, tosca.TargetLevel{InstantiationLevelID: request.InstantiationLevelID, ScaleInfo: request.ScaleInfo})
	if err = errors.Join(paramErrors(err), checkVNFD("scaleInfo", request.ScaleInfo, s.op.Package.VNFD().ID)); err != nil {
		return err
	}
	rec.Levels, rec.Scalings = rec.Before, nil
	scaled := map[string]bool{} // VDUs
	for _, step := range list {
		if size, err = f.Scale(size, step); err != nil {
			return paramErrors(err)
		}
		rec.Levels = size.ScaleStatus
		each := scaling{Request: ScaleVnfRequest{Type: step.Type, AspectID: step.AspectID, NumberOfSteps: step.NumberOfSteps}, Levels: rec.Levels}
		for _, vdu := range f.VDUsOf(step.AspectID) {
			each.Replan = each.Replan || scaled[vdu]
			scaled[vdu] = true
		}
		rec.Scalings = append(rec.Scalings, each)
	}
	return nil
}

// checkVNFD refuses scale levels of aspects of another VNFD (SOL003 v3.3.1 5.5.3.4).
func checkVNFD(attribute string, list []ScaleInfo, vnfdID string) error {
	var faults []error
	for i, info := range list {
		if info.VnfdID != "" && info.VnfdID != vnfdID {
			faults = append(faults, &ParamError{Path: fmt.Sprintf("%s[%d].vnfdId", attribute, i), Value: info.VnfdID, Reason: "is not the VNFD of the instance"})
		}
	}
	return errors.Join(faults...)
}

// enterScaling makes op what drivers see of one scaling.
func (op *Operation) enterScaling(rec *operationRecord, index int) {
	s, request := rec.Scalings[index], rec.Scalings[index].Request
	request.AdditionalParams = op.ScaleToLevel.AdditionalParams
	op.Kind, op.Scale, op.ScaleToLevel = OpScale, &request, nil
	op.Levels, op.Before, op.Change, op.planned, op.plannedBefore = s.Levels, rec.Before, s.Change, s.Planned, Change{}
	for _, earlier := range rec.Scalings[:index] {
		op.Before = earlier.Levels
		op.plannedBefore.Added = append(op.plannedBefore.Added, earlier.Planned.Added...)
	}
	if op.RollingBack {
		request.Type, op.Change = ScaleIn, rec.undoOf(index)
		op.Levels, op.Before = op.Before, op.Levels
	}
}

// replan plans the scaling of op, whose VNFCs are the result of the earlier scalings.
func (r *run) replan(ctx context.Context, s *session, index int) error {
	planned, err := s.planInfra(ctx, s.op)
	if err != nil {
		return fmt.Errorf("%s: %w", s.op.phase, err)
	}
	r.rec.Scalings[index].Planned, r.rec.Scalings[index].Change = planned, planned
	r.rec.Planned = r.rec.plannedScalings()
	return nil
}

// plannedScalings is what all scalings do together. VNFCs that one scaling adds and another removes have no id yet.
func (rec *operationRecord) plannedScalings() (all Change) {
	for _, s := range rec.Scalings {
		all.Added = append(all.Added, s.Planned.Added...)
		for _, v := range s.Planned.Removed {
			if slices.ContainsFunc(rec.VNFCs, v.same) {
				all.Removed = append(all.Removed, v)
			}
		}
	}
	return all
}

// expected are the VNFCs after a planned change. The added ones are as Plan announces them.
func (c Change) expected(before []VNFC) []VNFC {
	out := slices.Clone(before)
	for _, v := range c.Removed {
		if i := slices.IndexFunc(out, v.same); i >= 0 {
			out = slices.Delete(out, i, i+1)
		}
	}
	return append(out, c.Added...)
}

// same reports whether two VNFCs have the same id or, without ids, are announced in the same way.
func (v VNFC) same(other VNFC) bool {
	return v.ID == other.ID && (v.ID != "" || v.VDU == other.VDU && v.Name == other.Name)
}

// reachedLevels are the scale levels after the scalings whose resources have been changed and not restored.
func (rec *operationRecord) reachedLevels() map[string]int {
	levels := rec.Before
	for i, s := range rec.Scalings {
		if slices.Contains(rec.Done, phaseName(scalePhase, i)) && !slices.Contains(rec.Done, phaseName(scaleRollbackPhase, i)) {
			levels = s.Levels
		}
	}
	return levels
}

// translateFaults replaces the attributes of the ScaleVnfRequest that drivers see by those of this request.
func (req *ScaleVnfToLevelRequest) translateFaults(err error, aspectID string) error {
	return eachFault(err, func(fault *ParamError) {
		if !slices.Contains([]string{"type", "aspectId", "numberOfSteps"}, fault.Path) {
			return
		}
		i := slices.IndexFunc(req.ScaleInfo, func(info ScaleInfo) bool { return info.AspectID == aspectID })
		switch {
		case i < 0:
			fault.Path, fault.Value, fault.Reason = "instantiationLevelId", req.InstantiationLevelID, "aspect "+aspectID+": "+fault.Reason
		case fault.Path == "aspectId":
			fault.Path = fmt.Sprintf("scaleInfo[%d].aspectId", i)
		default:
			fault.Path, fault.Value = fmt.Sprintf("scaleInfo[%d].scaleLevel", i), fmt.Sprint(req.ScaleInfo[i].ScaleLevel)
		}
	})
}

// joinDistinct joins errors, each text once: several scalings have the faults of additionalParams in common.
func joinDistinct(errs ...error) error {
	var out []error
	seen := map[string]bool{}
	var add func(error)
	add = func(err error) {
		list := joined(err)
		for _, each := range list {
			add(each)
		}
		if len(list) == 0 && err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			out = append(out, err)
		}
	}
	add(errors.Join(errs...))
	return errors.Join(out...)
}
