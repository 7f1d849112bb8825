package openstack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/openstack/hot"
	"github.com/vnfkit/vnfkit/infra/openstack/internal/heat"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.Adopter = (*Driver)(nil)

// resourcePath is where faults of the stack to be adopted are reported.
const resourcePath = "resource"

// stackForm is the form of names and ids of stacks.
var stackForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$`)

// Adopt implements vnflcm.Adopter. resource is the name or the id of a stack, by default StackName, which is also how version 2
// of Tacker's API calls it; version 1 has another name. Adopt refuses a stack that is not complete, that belongs to another VNF
// instance, or that was made from other templates or parameters than the package and the request give: its first update would
// replace servers. The stack gets its tags with the first update.
func (d *Driver) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Resources, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	resource = cmp.Or(resource, StackName(op.InstanceID))
	if !stackForm.MatchString(resource) {
		return vnflcm.Resources{}, &vnflcm.ParamError{Path: resourcePath, Value: resource, Reason: "is no name and no id of a stack"}
	}
	s, err := w.heat.Find(ctx, resource)
	if err == nil && s == nil {
		err = fmt.Errorf("%w: %w", ErrNoStack, &vnflcm.ParamError{Path: resourcePath, Value: resource, Reason: "is no stack of the project"})
	}
	if err == nil {
		err = w.checkAdoptable(ctx, s)
	}
	if err != nil {
		return vnflcm.Resources{}, err
	}
	return w.read(ctx, s)
}

// checkAdoptable returns why a stack cannot be adopted.
func (w *work) checkAdoptable(ctx context.Context, s *heat.Stack) error {
	tags := w.tags()
	if slices.Contains(s.Tags, tags[0]) && !slices.Contains(s.Tags, tags[1]) {
		return fmt.Errorf("%w: %s (%s) has the tags %s", ErrForeignStack, s.Name, s.ID, strings.Join(s.Tags, ", "))
	}
	if !s.Status.Complete() || s.Status.Failed() || s.Status.Action() == "SUSPEND" {
		return &vnflcm.ParamError{Path: resourcePath, Value: s.Name, Reason: fmt.Sprintf("is %s (%s): it must be complete", s.Status, s.Reason)}
	}
	def, err := w.define(ctx, w.op, s.Parameters)
	if err != nil {
		return err
	}
	made, err := w.heat.Definition(ctx, s)
	if err != nil {
		return err
	}
	var faults []error
	if different := def.Template.Differences(made.Template, made.Files); len(different) > 0 {
		faults = append(faults, &vnflcm.ParamError{Path: resourcePath, Value: s.Name,
			Reason: "was made from other templates than the package has: " + listed(different)})
	}
	current, err := decoded(s.Parameters, def.Template)
	for _, path := range changedParameters("additionalParams.", def.Parameters, current, incomparable(def.Template, s.Parameters)) {
		faults = append(faults, &vnflcm.ParamError{Path: path, Reason: "is not what the stack " + s.Name + " was made with"})
	}
	return errors.Join(append(faults, err)...)
}

// listed shows the first of many.
func listed(list []string) string {
	const most = 10
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}

// incomparable are the paths of the parameters that say how many members groups have, and of those that Heat hides.
func incomparable(t *hot.Template, shown map[string]string) map[string]bool {
	out := map[string]bool{}
	for _, g := range t.Groups() {
		out["additionalParams."+strings.Join(g.Parameter, ".")] = true
	}
	for name, value := range shown {
		if value == hidden {
			out["additionalParams."+name] = true
		}
	}
	return out
}

// changedParameters are the paths of the parameters that the stack does not have as they are wanted, but for those in except.
// Lists are not compared: Heat shows them in several forms.
func changedParameters(prefix string, want, have map[string]any, except map[string]bool) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(want)) {
		path, value := prefix+name, want[name]
		object, isObject := value.(map[string]any)
		_, isList := value.([]any)
		switch {
		case except[path] || isList:
		case isObject:
			inner, _ := have[name].(map[string]any)
			out = append(out, changedParameters(path+".", object, inner, except)...)
		case fmt.Sprint(value) != fmt.Sprint(have[name]):
			out = append(out, path)
		}
	}
	return out
}
