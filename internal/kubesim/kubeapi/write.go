package kubeapi

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (q *request) create() (any, error) {
	o, err := q.decodeWhole()
	if err != nil {
		return nil, err
	}
	meta := inner(o, "metadata")
	q.path.name = Text(meta, "name")
	if prefix := Text(meta, "generateName"); q.path.name == "" && prefix != "" {
		q.path.name = generated(prefix)
		meta["name"] = q.path.name
	}
	if q.path.name == "" {
		return nil, q.invalid("metadata.name: Required value: name or generateName is required")
	}
	if Text(meta, "resourceVersion") != "" {
		return nil, apiFault(http.StatusInternalServerError, "", "resourceVersion should not be set on objects to be created")
	}
	return q.write(nil, o)
}

// exists is the error for an object of the same name. An API server finds it after admission, when it stores the object.
func (q *request) exists() error {
	return apierrors.NewAlreadyExists(q.path.kind.resource(), q.path.name)
}

// decodeWhole reads an object that is not part of one.
func (q *request) decodeWhole() (Object, error) {
	o, err := q.decode()
	if err != nil {
		return nil, err
	}
	if q.path.kind.custom() && (Text(o, "kind") == "" || Text(o, "apiVersion") == "") {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "Object 'Kind' or 'apiVersion' is missing")
	}
	return o, q.checkFields(o, q.undecoded)
}

// replace is an update (PUT).
func (q *request) replace() (any, error) {
	o, err := q.decodeWhole()
	if err != nil {
		return nil, err
	}
	old, exists := q.load(q.path)
	if !exists {
		return nil, q.notFound()
	}
	if q.path.kind.custom() && Text(o, "metadata", "resourceVersion") == "" {
		return nil, q.invalid("metadata.resourceVersion: Invalid value: 0x0: must be specified for an update")
	}
	return q.write(old, o)
}

func (q *request) conflict() error {
	return apierrors.NewConflict(q.path.kind.resource(), q.path.name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// write checks an object as the API server does, and keeps it.
func (q *request) write(old, o Object) (any, error) {
	if err := q.checkMeta(old, o); err != nil {
		return nil, err
	}
	o["kind"], o["apiVersion"] = q.path.kind.Kind, q.path.kind.apiVersion()
	if q.path.kind.Kind == "Node" {
		return q.writeNode(old, o)
	}
	q.systemMeta(old, o)
	if q.path.kind.Kind != "Pod" || old != nil || q.dry {
		q.keepStatus(old, o)
	}
	q.defaults(old, o)
	operation := "UPDATE"
	if old == nil {
		operation = "CREATE"
	}
	if err := q.c.callWebhooks(operation, q.path, o, mutating); err != nil {
		return nil, err
	}
	if err := q.validate(old, o); err != nil {
		return nil, err
	}
	if q.faults != nil {
		return nil, q.invalid()
	}
	if err := q.c.callWebhooks(operation, q.path, o, validating); err != nil {
		return nil, err
	}
	if old == nil {
		if err := q.c.checkQuota(q.path.kind, o); err != nil {
			return nil, err
		}
	}
	if !q.applied {
		if err := q.ownUpdate(old, o); err != nil {
			return nil, err
		}
	}
	return q.keep(old, o)
}

// keep stores a checked object, unless nothing has changed.
func (q *request) keep(old, o Object) (any, error) {
	if old != nil && reflect.DeepEqual(plain(old), plain(o)) {
		return old, nil
	}
	if _, exists := q.load(q.path); exists && old == nil {
		return nil, q.exists()
	}
	meta := inner(o, "metadata")
	if old == nil {
		meta["generation"] = 1
	} else if q.specChanged(old, o) {
		n, _ := numberAt(old, "metadata", "generation")
		meta["generation"] = n + 1
	}
	q.created = old == nil
	if err := q.c.Store(q.path.kind, o); err != nil {
		return nil, err
	}
	if at(o, "metadata", "deletionTimestamp") != nil {
		q.c.finish(q.path.kind, o)
	}
	return o, nil
}

// specChanged reports whether something changed that controllers must do something about: all but metadata and status. The
// annotations of a Deployment count too, as its controller copies them.
func (q *request) specChanged(old, o Object) bool {
	if q.path.kind.Kind == "Deployment" && !reflect.DeepEqual(at(old, "metadata", "annotations"), at(o, "metadata", "annotations")) {
		return true
	}
	strip := func(o Object) Object {
		out := Object{}
		for name, value := range o {
			if name != "metadata" && (name != "status" || !q.c.hasStatus(q.path.kind)) {
				out[name] = value
			}
		}
		return out
	}
	return !reflect.DeepEqual(plain(strip(old)), plain(strip(o)))
}

// checkMeta finds metadata that contradict the path or the existing object.
func (q *request) checkMeta(old, o Object) error {
	meta := inner(o, "metadata")
	switch {
	case Text(meta, "name") != q.path.name:
		return apiFault(http.StatusBadRequest, "BadRequest", "the name of the object (%s) does not match the name on the URL (%s)", Text(meta, "name"), q.path.name)
	case Text(o, "kind") != "" && Text(o, "kind") != q.path.kind.Kind:
		return apiFault(http.StatusBadRequest, "BadRequest", "%s provided is not %s", Text(o, "kind"), q.path.kind.Kind)
	case Text(o, "apiVersion") != "" && Text(o, "apiVersion") != q.path.kind.apiVersion():
		return apiFault(http.StatusBadRequest, "BadRequest", "the API version in the data (%s) does not match the expected API version (%s)", Text(o, "apiVersion"), q.path.kind.apiVersion())
	case q.path.kind.Namespaced && Text(meta, "namespace") != "" && Text(meta, "namespace") != q.path.namespace:
		return apiFault(http.StatusBadRequest, "BadRequest", "the namespace of the provided object does not match the namespace sent on the request")
	}
	if old != nil {
		if uid := Text(meta, "uid"); uid != "" && uid != Text(old, "metadata", "uid") {
			return apiFault(http.StatusConflict, "Conflict", "Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, Text(old, "metadata", "uid"))
		}
		if version := Text(meta, "resourceVersion"); version != "" && version != Text(old, "metadata", "resourceVersion") {
			return q.conflict()
		}
	}
	if !q.path.kind.Namespaced {
		delete(meta, "namespace")
		return q.checkNames(old, meta)
	}
	meta["namespace"] = q.path.namespace
	if err := q.checkNames(old, meta); err != nil {
		return err
	}
	namespace, exists := q.load(apiPath{kind: namespaceKind, name: q.path.namespace})
	switch {
	case !exists:
		return apierrors.NewNotFound(namespaceKind.resource(), q.path.namespace)
	case old == nil && at(namespace, "metadata", "deletionTimestamp") != nil:
		err := apierrors.NewForbidden(q.path.kind.resource(), q.path.name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", q.path.namespace))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause, Message: "namespace " + q.path.namespace + " is being terminated", Field: "metadata.namespace"}}
		return err
	}
	return nil
}

// checkNames checks the name, the labels, the annotations, the owners and the finalizers.
func (q *request) checkNames(old, meta Object) error {
	is, was := metav1.ObjectMeta{}, metav1.ObjectMeta{}
	metadata, _ := at(old, "metadata").(Object)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(metadata, &was); err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(meta, &is); err != nil {
		return q.undecoded("json: " + err.Error())
	}
	path := field.NewPath("metadata")
	faults := validation.ValidateObjectMetaWithOpts(&is, q.path.kind.Namespaced, q.checkName, path)
	if was.DeletionTimestamp != nil {
		faults = append(faults, validation.ValidateNoNewFinalizers(is.Finalizers, was.Finalizers, path.Child("finalizers"))...)
	}
	for _, fault := range faults {
		q.fault("%s", fault.Error())
	}
	return nil
}

// checkName checks that the name has the form that its kind demands.
func (q *request) checkName(path *field.Path, name string) (faults field.ErrorList) {
	check := validation.NameIsDNSSubdomain
	switch q.path.kind.Kind {
	case "Namespace":
		check = validation.ValidateNamespaceName
	case "Service":
		check = validation.NameIsDNSLabel
	case "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding":
		check = func(name string, _ bool) []string { return content.IsPathSegmentName(name) }
	}
	for _, reason := range check(name, false) {
		faults = append(faults, field.Invalid(path, name, reason))
	}
	return faults
}

// systemMeta sets what clients do not.
func (q *request) systemMeta(old, o Object) {
	meta := inner(o, "metadata")
	for _, name := range []string{"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "generation", "selfLink"} {
		delete(meta, name)
		if value := at(old, "metadata", name); value != nil {
			meta[name] = value
		}
	}
	if !q.applied {
		delete(meta, "managedFields")
		if value := at(old, "metadata", "managedFields"); value != nil {
			meta["managedFields"] = value
		}
	}
	for name, value := range meta { // null counts as absent
		if value == nil {
			delete(meta, name)
		}
	}
}

// keepStatus prevents changes of the status except through its subresource.
func (q *request) keepStatus(old, o Object) {
	if !q.c.hasStatus(q.path.kind) {
		return
	}
	delete(o, "status")
	if old != nil && old["status"] != nil {
		o["status"] = old["status"]
	}
}

// finish deletes an object that is marked for deletion, once nothing blocks it: no finalizer, and for a pod its
// kubelet.
func (c *Cluster) finish(k Kind, o Object) {
	held, _ := at(o, "metadata", "finalizers").([]any)
	seconds, _ := numberAt(o, "metadata", "deletionGracePeriodSeconds")
	if len(held) > 0 || k.Kind == "Pod" && seconds > 0 || k.Kind == "Namespace" || k.Kind == "PersistentVolume" && Text(o, "status", "phase") == "Bound" {
		return
	}
	c.drop(k.key(Text(o, "metadata", "namespace"), Text(o, "metadata", "name")))
}

// mark marks an object for deletion.
func mark(o Object, seconds int) {
	meta := inner(o, "metadata")
	if meta["deletionTimestamp"] == nil {
		meta["deletionTimestamp"] = time.Now().UTC().Add(time.Duration(seconds) * time.Second).Format(time.RFC3339)
	}
	meta["deletionGracePeriodSeconds"] = seconds
}

// manager is the name by which the fields that a request sets are owned.
func (q *request) manager() string {
	if name := q.http.URL.Query().Get("fieldManager"); name != "" {
		return name
	}
	name, _, _ := strings.Cut(q.http.UserAgent(), "/")
	return name
}
