// Package claims keeps the PersistentVolumeClaims, PersistentVolumes and named objects of a release when Helm uninstalls it. Helm decides by the manifest that it
// has stored, not by the objects on the cluster.
package claims

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// Policy is the annotation of objects that Helm does not delete when its value is "keep".
const Policy = "helm.sh/resource-policy"

// document is a part of a manifest.
type document struct {
	text    []byte
	objects []*unstructured.Unstructured // several of a list, none if it is empty
}

// Keep are the kinds of objects that Helm keeps.
type Keep struct {
	Claims  bool // PersistentVolumeClaims, and the namespaces that contain them
	Volumes bool // PersistentVolumes
	// Objects are kept, whatever their kind is. An object whose manifest names no namespace belongs to Namespace.
	Objects   []helmclient.Object
	Namespace string
}

// In returns the manifest of a release with the annotation that keeps objects at all objects of these kinds. The text of other
// objects stays.
func (k Keep) In(manifest string) (out string, changed bool, err error) {
	if !k.Claims && !k.Volumes && len(k.Objects) == 0 {
		return manifest, false, nil
	}
	documents, err := split(manifest)
	if err != nil {
		return "", false, err
	}
	var namespaces []string
	for _, d := range documents {
		for _, o := range d.objects {
			if isClaim(o) {
				namespaces = append(namespaces, o.GetNamespace())
			}
		}
	}
	var text strings.Builder
	for _, d := range documents {
		if !slices.ContainsFunc(d.objects, func(o *unstructured.Unstructured) bool { return k.keep(o, namespaces) }) {
			fmt.Fprintf(&text, "---\n%s", d.text)
			continue
		}
		changed = true
		for _, o := range d.objects {
			one, err := yaml.Marshal(o.Object)
			if err != nil {
				return "", false, err
			}
			fmt.Fprintf(&text, "---\n%s", one)
		}
	}
	return text.String(), changed, nil
}

func isClaim(o *unstructured.Unstructured) bool { return isCore(o, "PersistentVolumeClaim") }

func isCore(o *unstructured.Unstructured, kind string) bool {
	return o.GetAPIVersion() == "v1" && o.GetKind() == kind
}

// keep gives an object the annotation, and reports whether that changed the object.
func (k Keep) keep(o *unstructured.Unstructured, namespaces []string) bool {
	annotations := o.GetAnnotations()
	contains := isCore(o, "Namespace") && slices.Contains(namespaces, o.GetName())
	kept := k.Claims && (isClaim(o) || contains) || k.Volumes && isCore(o, "PersistentVolume") || k.names(o)
	if !kept || annotations[Policy] == "keep" {
		return false
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[Policy] = "keep"
	o.SetAnnotations(annotations)
	return true
}

// names reports whether an object is among k.Objects.
func (k Keep) names(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(k.Objects, func(r helmclient.Object) bool {
		return r.APIVersion == o.GetAPIVersion() && r.Kind == o.GetKind() && r.Name == o.GetName() &&
			(r.Namespace == "" || r.Namespace == cmp.Or(o.GetNamespace(), k.Namespace))
	})
}

func split(manifest string) (all []document, err error) {
	reader := yamlutil.NewYAMLReader(bufio.NewReader(strings.NewReader(manifest)))
	for {
		text, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			return nil, fmt.Errorf("the manifest of the release: %w", err)
		}
		d := document{text: append(bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(text), []byte("---"))), '\n')}
		switch {
		case len(o.Object) == 0:
		case o.IsList():
			err = o.EachListItem(func(item runtime.Object) error {
				d.objects = append(d.objects, item.(*unstructured.Unstructured)) //nolint:forcetypeassert // EachListItem makes them
				return nil
			})
		default:
			d.objects = []*unstructured.Unstructured{o}
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
}
