package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// fieldManager owns, in server-side apply, the fields that this package sets.
const fieldManager = "vnfkit"

// Apply applies a manifest: documents of YAML or JSON, lists too (server-side apply, field manager "vnfkit"; it takes
// over fields of other managers). Objects without a namespace are created in "default". Apply retries errors that may
// pass until ctx ends: an API that does not answer, a webhook that is not running, a namespace or kind that another
// object of the manifest defines. It returns other errors at once: an invalid manifest, and objects that the API server
// finds invalid or forbids. The error names the objects.
func (c *Cluster[R]) Apply(ctx context.Context, manifest []byte) error {
	left, err := objectsOf(manifest)
	if err != nil {
		return err
	}
	return c.poll(ctx, "the manifest to be accepted", func(ctx context.Context, s *session) error {
		var failed []unstructured.Unstructured
		var errs []error
		for _, o := range left {
			// The remaining objects are applied too: this one may need them.
			if err := s.apply(ctx, o); err != nil {
				failed, errs = append(failed, o), append(errs, permanent(fmt.Errorf("%s: %w", describe(o), err)))
			}
		}
		left = failed
		return errors.Join(errs...)
	})
}

// objectsOf reads a manifest. An object without kind, apiVersion or name is an error.
func objectsOf(manifest []byte) ([]unstructured.Unstructured, error) {
	var out []unstructured.Unstructured
	d := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for n := 1; ; n++ {
		var o unstructured.Unstructured
		if err := d.Decode(&o.Object); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("cluster: document %d of the manifest: %w", n, err)
		}
		items := []unstructured.Unstructured{o}
		switch {
		case len(o.Object) == 0: // an empty document
			continue
		case o.IsList():
			list, err := o.ToList()
			if err != nil {
				return nil, fmt.Errorf("cluster: document %d of the manifest: %w", n, err)
			}
			items = list.Items
		}
		for _, item := range items {
			if err := checkObject(item); err != nil {
				return nil, fmt.Errorf("cluster: document %d of the manifest: %w", n, err)
			}
			out = append(out, item)
		}
	}
}

// checkObject finds what no API server would take, and no path may be made of.
func checkObject(o unstructured.Unstructured) error {
	if o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
		return errors.New("kind, apiVersion and metadata.name must be given, as text")
	}
	_, err := schema.ParseGroupVersion(o.GetAPIVersion())
	for _, name := range []string{o.GetName(), o.GetNamespace()} {
		for _, fault := range content.IsPathSegmentName(name) {
			err = errors.Join(err, fmt.Errorf("the name %q %s", name, fault))
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", describe(o), err)
	}
	return nil
}

func describe(o unstructured.Unstructured) string { return o.GetKind() + "/" + o.GetName() }

func (s *session) apply(ctx context.Context, o unstructured.Unstructured) error {
	k, err := s.Kind(ctx, schema.FromAPIVersionAndKind(o.GetAPIVersion(), o.GetKind()))
	if err != nil {
		return err
	}
	if k.Namespaced && o.GetNamespace() == "" {
		o.SetNamespace(metav1.NamespaceDefault)
	}
	_, err = s.Objects(k, o.GetNamespace()).Apply(ctx, o.GetName(), &o, metav1.ApplyOptions{FieldManager: fieldManager, Force: true})
	return err
}

// Exists reports whether an object of a built-in kind exists: "daemonset", "secret".
func (c *Cluster[R]) Exists(ctx context.Context, namespace, kind, name string) (found bool, err error) {
	k, err := kindNamed(kind)
	if err != nil {
		return false, err
	}
	err = c.on(ctx, func(ctx context.Context, s *session) error {
		_, err := s.Objects(k, namespace).Get(ctx, name, metav1.GetOptions{})
		found = err == nil
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
	return found, err
}

// Delete removes an object of a kind that Kubernetes has itself; that there is none is no error.
func (c *Cluster[R]) Delete(ctx context.Context, namespace, kind, name string) error {
	k, err := kindNamed(kind)
	if err != nil {
		return err
	}
	return c.on(ctx, func(ctx context.Context, s *session) error { return s.delete(ctx, k, namespace, name) })
}
