package kubeapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A Schema knows the fields of built-in kinds. It returns the paths of fields that an object has and its kind has not
// (spec.template.spec.containers[0].imagePullPolice), or why a field of the kind cannot have the value that it has. Of kinds that it does
// not know it returns nothing.
type Schema func(apiVersion, kind string, o Object) (unknown []string, err error)

// fields is what all API servers check fields by. Without one, unknown fields are kept, and the types of few fields are checked.
var fields Schema

// CheckFields makes all API servers of this process check fields. It is for functions init.
func CheckFields(s Schema) { fields = s }

// unknownFields are the fields of an object that its kind does not have. A field of a wrong type is an error.
func (q *request) unknownFields(o Object) ([]string, error) {
	if fields == nil || q.path.kind.custom() || q.path.sub != "" && q.path.sub != "status" {
		return nil, nil
	}
	return fields(q.path.kind.apiVersion(), q.path.kind.Kind, o)
}

func (q *request) undecoded(reason string) error {
	return apiFault(http.StatusBadRequest, "BadRequest", "%s in version %q cannot be handled as a %s: %s", q.path.kind.Kind, q.path.kind.Version, q.path.kind.Kind, reason)
}

// checkFields refuses fields of a wrong type and unknown fields. If the request wants less (fieldValidation), the object loses its
// unknown fields, with or without a warning.
func (q *request) checkFields(o Object, refuse func(reason string) error) error {
	unknown, err := q.unknownFields(o)
	if err != nil {
		return refuse("json: " + err.Error())
	}
	if len(unknown) == 0 {
		return nil
	}
	switch q.http.URL.Query().Get("fieldValidation") {
	case "Warn":
		q.warnings = unknown
	case "Ignore":
	default:
		return refuse("strict decoding error: unknown field \"" + strings.Join(unknown, "\", unknown field \"") + "\"")
	}
	for _, path := range unknown {
		prune(o, strings.FieldsFunc(path, func(r rune) bool { return strings.ContainsRune(".[]", r) }))
	}
	return nil
}

// prune removes the value at a path of names and indexes.
func prune(o any, path []string) {
	switch o := o.(type) {
	case Object:
		if len(path) == 1 {
			delete(o, path[0])
			return
		}
		prune(o[path[0]], path[1:])
	case []any:
		if i, err := strconv.Atoi(path[0]); err == nil && i < len(o) && len(path) > 1 {
			prune(o[i], path[1:])
		}
	}
}

// fault records a fault of an object, which begins with the path of the field.
func (q *request) fault(format string, args ...any) {
	q.faults = append(q.faults, fmt.Sprintf(format, args...))
}

// invalid is the error of the recorded faults and of further ones.
func (q *request) invalid(more ...string) error {
	faults, causes := slices.Concat(q.faults, more), []any{}
	message := faults[0]
	if len(faults) > 1 {
		message = "[" + strings.Join(faults, ", ") + "]"
	}
	for _, fault := range faults {
		field, reason, _ := strings.Cut(fault, ": ")
		causes = append(causes, Object{"reason": reasonOf(reason), "message": reason, "field": field})
	}
	err := &apiError{code: http.StatusUnprocessableEntity, reason: "Invalid", message: q.path.kind.Kind + " \"" + q.path.name + "\" is invalid: " + message}
	err.details = Object{"name": q.path.name, "group": q.path.kind.Group, "kind": q.path.kind.Kind, "causes": causes}
	return err
}

// reasons are the reasons of causes (meta/v1 CauseType), by what their messages begin with.
var reasons = map[string]string{"Required value": "FieldValueRequired", "Unsupported value": "FieldValueNotSupported", "Duplicate value": "FieldValueDuplicate",
	"Forbidden": "FieldValueForbidden", "Not found": "FieldValueNotFound"}

func reasonOf(message string) string {
	begin, _, _ := strings.Cut(message, ": ")
	return cmp.Or(reasons[begin], "FieldValueInvalid")
}
