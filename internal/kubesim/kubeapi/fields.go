package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// unknownFields are the fields of an object that its kind does not have by the types of client-go, as paths
// (spec.template.spec.containers[0].imagePullPolice). A field of a wrong type is an error.
func (q *request) unknownFields(o Object) (unknown []string, err error) {
	into := q.path.kind.typed()
	if into == nil {
		return nil, nil
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o, into, true)
	strict, ok := runtime.AsStrictDecodingError(err)
	if !ok {
		return nil, err
	}
	for _, one := range strict.Errors() {
		path, _ := strings.CutPrefix(one.Error(), `unknown field "`)
		unknown = append(unknown, strings.TrimSuffix(path, `"`))
	}
	return unknown, nil
}

func (q *request) undecoded(reason string) error {
	return apierrors.NewBadRequest(fmt.Sprintf("%s in version %q cannot be handled as a %s: %s", q.path.kind.Kind, q.path.kind.Version, q.path.kind.Kind, reason))
}

// checkFields refuses fields of a wrong type and unknown fields.
func (q *request) checkFields(o Object, refuse func(reason string) error) error {
	unknown, err := q.unknownFields(o)
	if err != nil {
		return refuse("json: " + err.Error())
	}
	if len(unknown) > 0 {
		return refuse("strict decoding error: unknown field \"" + strings.Join(unknown, "\", unknown field \"") + "\"")
	}
	return nil
}

// fault records a fault of an object, which begins with the path of the field.
func (q *request) fault(format string, args ...any) {
	q.faults = append(q.faults, fmt.Sprintf(format, args...))
}

// invalid is the error of the recorded faults and of further ones.
func (q *request) invalid(more ...string) error {
	faults, causes := slices.Concat(q.faults, more), []metav1.StatusCause{}
	for _, fault := range faults {
		path, reason, _ := strings.Cut(fault, ": ")
		causes = append(causes, metav1.StatusCause{Message: reason, Field: path})
	}
	err := apierrors.NewInvalid(q.path.kind.gvk().GroupKind(), q.path.name, nil)
	err.ErrStatus.Message += ": " + strings.Join(faults, ", ")
	err.ErrStatus.Details.Causes = causes
	return err
}

// apiFault is an answer other than success.
func apiFault(code int32, reason metav1.StatusReason, format string, args ...any) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: fmt.Sprintf(format, args...)}}
}
