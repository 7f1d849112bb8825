package vnflcm

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// sol001Operations has the names of LCM operations in SOL001 (interface Vnflcm).
var sol001Operations = map[LcmOperation]string{
	OpInstantiate:      "instantiate",
	OpScale:            "scale",
	OpScaleToLevel:     "scale_to_level",
	OpHeal:             "heal",
	OpTerminate:        "terminate",
	OpChangeExtConn:    "change_external_connectivity",
	OpOperate:          "operate",
	OpCreateSnapshot:   "create_snapshot",
	OpRevertToSnapshot: "revert_to_snapshot",
}

// checkDeclared compares additionalParams of the request with the attributes that the VNFD declares for the operation. Attributes that are
// missing or have another type are faults; attributes that neither the VNFD nor a driver declares are a warning. For an instance that an
// earlier version instantiated, which did not compare them, the faults are warnings.
func (s *session) checkDeclared(ctx context.Context, inst *instanceRecord, rec *operationRecord) error {
	var given, merged map[string]any
	if err := decodeUseNumber(s.op.RequestParams().Reveal(), &given); err != nil {
		return err
	}
	if err := decodeUseNumber(s.op.Params.Reveal(), &merged); err != nil {
		return err
	}
	operation := sol001Operations[s.op.Kind]
	for _, a := range s.op.Flavour.AdditionalParameters[operation] {
		if _, isGiven := given[a.Name]; !isGiven && merged[a.Name] != nil { // at the instantiation
			given[a.Name] = merged[a.Name]
		}
	}
	undeclared, err := s.op.Flavour.CheckParameters(operation, given)
	var idle []string
	for _, u := range undeclared {
		name := strings.TrimPrefix(u.Path, additionalParamsPath+".")
		if slices.Contains(s.op.declaredParams, name) || name == withCNFs || name == allParameter {
			continue
		}
		if u.Nearest != "" {
			u.Path += fmt.Sprintf(" (did you mean %q?)", u.Nearest)
		}
		idle = append(idle, u.Path)
	}
	if len(idle) > 0 {
		s.warn(ctx, rec, "attributes that the VNFD does not declare: "+strings.Join(idle, ", "))
	}
	if err = paramErrors(err); err != nil && !inst.ParamsDeclared {
		s.warn(ctx, rec, err.Error())
		return nil
	}
	return err
}

// warn logs a warning about a request and adds it to the document of the operation.
func (s *session) warn(ctx context.Context, rec *operationRecord, text string) {
	s.op.warnings = &warnings{}
	s.op.Warn(ctx, text)
	rec.recordWarnings(s.op.warnings)
	s.op.warnings = nil // the operation is not in a phase
}
