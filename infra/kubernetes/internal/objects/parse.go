package objects

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	jsonutil "k8s.io/apimachinery/pkg/util/json"
	yamlutil "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

const (
	maxText    = 16 << 20 // of a manifest, in bytes
	maxObject  = 3 << 20  // of one object as JSON: the limit of an API server for one request
	maxObjects = 2000     // in a manifest
)

// ErrManifest is the error of Parse for an invalid manifest. Retrying does not help.
var ErrManifest = errors.New("is no manifest")

// Parse reads a manifest: documents of YAML or JSON, lists too. name is the name of the file, for errors. It reports
// all faults at once (ErrManifest, joined), each with its document: a document that is not an object, duplicates, names
// that are invalid in a URL path, more than 16 MiB, 2000 objects, or 3 MiB in one object.
func Parse(name string, text []byte) ([]*Object, error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("%s %w: it has more than %d bytes", name, ErrManifest, maxText)
	}
	var out []*Object
	var faults []error
	documents := yamlutil.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var found []*Object
		if err == nil {
			found, err = objectsOf(document)
		} else {
			n = maxObjects // the reader is lost
		}
		if err != nil {
			faults = append(faults, fmt.Errorf("%s, document %d: %w: %w", name, n, ErrManifest, err))
		}
		if out = append(out, found...); len(out) > maxObjects || n >= maxObjects {
			faults = append(faults, fmt.Errorf("%s %w: it has more than %d objects", name, ErrManifest, maxObjects))
			break
		}
	}
	if len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	return out, nil
}

// objectsOf reads one document; an empty one, or one of comments only, contains no object.
func objectsOf(document []byte) ([]*Object, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	if len(data) > maxText {
		return nil, fmt.Errorf("it grows to more than %d bytes", maxText)
	}
	var tree any
	if err := jsonutil.Unmarshal(data, &tree); err != nil {
		return nil, err
	}
	if tree == nil {
		return nil, nil
	}
	return fromTree(tree, true)
}

func fromTree(tree any, lists bool) ([]*Object, error) {
	m, ok := tree.(map[string]any)
	if !ok {
		return nil, errors.New("it is no object with apiVersion, kind and metadata")
	}
	o := &Object{Object: m}
	items, ok := m["items"].([]any)
	if !ok || !strings.HasSuffix(o.GetKind(), "List") {
		return []*Object{o}, check(o)
	}
	if !lists {
		return nil, errors.New("it is a list in a list")
	}
	var out []*Object
	var faults []error
	for i, item := range items {
		found, err := fromTree(item, false)
		if err != nil {
			err = fmt.Errorf("item %d: %w", i, err)
		}
		out, faults = append(out, found...), append(faults, err)
	}
	return out, errors.Join(faults...)
}

// check finds what no API server would take, and no path may be made of.
func check(o *Object) error {
	if _, ok, _ := unstructured.NestedMap(o.Object, "metadata"); !ok || o.GetKind() == "" || o.GetAPIVersion() == "" || o.GetName() == "" {
		return fmt.Errorf("%s: apiVersion, kind and metadata.name must be given, as text", RefOf(o))
	}
	_, err := schema.ParseGroupVersion(o.GetAPIVersion())
	faults := []error{err}
	for _, name := range []string{o.GetName(), o.GetNamespace()} {
		for _, fault := range content.IsPathSegmentName(name) {
			faults = append(faults, fmt.Errorf("the name %q %s", name, fault))
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if _, _, err := unstructured.NestedStringMap(o.Object, "metadata", field); err != nil {
			faults = append(faults, fmt.Errorf("metadata.%s must be texts", field))
		}
	}
	if err := errors.Join(faults...); err != nil {
		return fmt.Errorf("%s: %w", RefOf(o), err)
	}
	if data, err := o.MarshalJSON(); err != nil || len(data) > maxObject {
		return fmt.Errorf("%s: it has more than %d bytes", RefOf(o), maxObject)
	}
	return nil
}
