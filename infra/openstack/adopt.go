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

// resourcePath is the path in errors about the stack to be adopted.
const resourcePath = "resource"

// stackForm matches names and ids of stacks.
var stackForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,254}$`)

// Adopt implements vnflcm.Adopter. resource is the name or the id of a stack. Its default is StackName: version 2 of
// Tacker's API uses this name, version 1 another one. Adopt refuses a stack that is not complete or that belongs to
// another VNF instance. It also refuses a stack whose templates or parameters differ from those of the package and the
// request, because the first update of that stack would replace servers. Adopt changes nothing: the stack gets the tags
// of the instance with its first update.
func (d *Driver) Adopt(ctx context.Context, op *vnflcm.Operation, resource string) (vnflcm.Adopted, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return vnflcm.Adopted{}, err
	}
	resource = cmp.Or(resource, StackName(op.InstanceID))
	if !stackForm.MatchString(resource) {
		return vnflcm.Adopted{}, &vnflcm.ParamError{Path: resourcePath, Value: resource, Reason: "is no name and no id of a stack"}
	}
	s, err := w.heat.Find(ctx, resource)
	if err == nil && s == nil {
		err = fmt.Errorf("%w: %w", ErrNoStack, &vnflcm.ParamError{Path: resourcePath, Value: resource, Reason: "is no stack of the project"})
	}
	if err == nil {
		err = w.checkAdoptable(ctx, s)
	}
	if err != nil {
		return vnflcm.Adopted{}, err
	}
	found, err := w.read(ctx, s)
	return vnflcm.Adopted{Resources: found}, err
}

// checkAdoptable returns the reasons why the driver cannot adopt a stack, or nil.
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

// listed joins the first ten entries of a list and says how many follow.
func listed(list []string) string {
	const most = 10
	if len(list) > most {
		list = append(slices.Clone(list[:most]), fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(list, ", ")
}

// incomparable returns the paths of parameters that may differ: sizes of groups, and parameters whose values Heat hides.
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

// changedParameters returns the paths, except those in except, at which the parameters of the stack differ from want.
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
