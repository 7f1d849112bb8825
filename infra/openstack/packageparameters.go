package openstack

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// keepParameters completes the parameters of the target by those that Heat keeps, and notes in origin the values of hidden parameters that
// the target overwrites: rolling back needs them. It refuses to overwrite a value that the driver does not know.
func (w *work) keepParameters(def *Definition, origin *packageSide, was *hot.Template) error {
	var given map[string]any
	if _, err := w.op.Former.Initial.AdditionalParams.Decode(&given); err != nil {
		return err
	}
	if def.Parameters == nil {
		def.Parameters = map[string]any{}
	}
	var faults []error
	for _, p := range def.Template.Parameters() {
		i := slices.IndexFunc(was.Parameters(), func(o hot.Parameter) bool { return o.Name == p.Name })
		switch {
		case i < 0, p.Name == nfv, p.Name == hot.HostKeys: // the driver computes the last two
		case was.Parameters()[i].Hidden:
			value, isKnown := given[p.Name]
			if !isKnown {
				value, isKnown = was.Default(p.Name)
			}
			faults = append(faults, origin.keepHidden(def, p, value, isKnown))
		default:
			standard, _ := was.Default(p.Name)
			origin.keepShown(def, p, standard)
		}
	}
	return errors.Join(faults...)
}

// keepHidden compares a hidden parameter of the stack with the value that the VNF was given.
func (s *packageSide) keepHidden(def *Definition, p hot.Parameter, before any, isKnown bool) error {
	value, isNamed := def.Parameters[p.Name]
	switch {
	case !isNamed:
	case !isKnown:
		return &vnflcm.ParamError{Path: "additionalParams." + p.Name, Reason: fmt.Sprintf(
			"is a hidden parameter of the stack, whose present value cannot be read and restored (%s:%d): the new package must give the parameter another name", p.File, p.Line)}
	case sameValue(value, before):
		delete(def.Parameters, p.Name) // Heat keeps it
	default:
		if s.Hidden == nil {
			s.Hidden = map[string]any{}
		}
		s.Hidden[p.Name] = before
	}
	return nil
}

// keepShown gives a parameter that the target does not name the value that the stack has or, instead of the former default, the new one.
func (s *packageSide) keepShown(def *Definition, p hot.Parameter, standard any) {
	before, isKnown := s.Parameters[p.Name]
	if _, isNamed := def.Parameters[p.Name]; isNamed || !isKnown {
		return
	}
	def.Parameters[p.Name] = before
	if p.HasDefault && sameValue(before, standard) {
		def.Parameters[p.Name], _ = def.Template.Default(p.Name)
	}
}

// sameValue reports whether two values of a parameter are equal for Heat.
func sameValue(a, b any) bool {
	text, isText := b.(string)
	if !isText {
		data, err := json.Marshal(b)
		if err != nil {
			return false
		}
		text = string(data)
	}
	return sameParameters(map[string]string{"": text}, map[string]any{"": a})
}
