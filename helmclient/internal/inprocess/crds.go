package inprocess

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/dynamic"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// manager is who owns the fields of CRDs that are replaced.
const manager = "vnfkit"

// replaceCRDs applies the CRDs of a chart when they are to be replaced.
func (k *Call) replaceCRDs(ch Chart, r helmclient.Install) error {
	if r.CRDs != helmclient.CRDCreateReplace || r.DryRun {
		return nil
	}
	return k.eachCRD(ch, r, func(resource dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := resource.Apply(k.ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true})
		return err
	})
}

// CreateCRDs makes the CRDs of a chart that do not exist, and leaves those that exist as they are.
func (k *Call) CreateCRDs(ch Chart, r helmclient.Install) error {
	return k.eachCRD(ch, r, func(resource dynamic.ResourceInterface, o *unstructured.Unstructured) error {
		_, err := resource.Create(k.ctx, o, metav1.CreateOptions{FieldManager: FieldManager})
		if apierrors.IsAlreadyExists(err) {
			return nil
		}
		return err
	})
}

// eachCRD does something with each CRD of a chart, and waits until the API server serves them.
func (k *Call) eachCRD(ch Chart, r helmclient.Install, do func(dynamic.ResourceInterface, *unstructured.Unstructured) error) error {
	var names []string
	for _, file := range ch.CRDs() {
		objects, err := documents(file.Data)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", helmclient.ErrInvalidChart, file.Name, err)
		}
		for _, o := range objects {
			resource, err := k.resourceOf(o)
			if err == nil {
				err = do(resource, o)
			}
			if err != nil {
				return k.explain(fmt.Errorf("%s: %s %s: %w", file.Name, o.GetKind(), o.GetName(), err), helmclient.ErrInvalidChart)
			}
			if kind := o.GroupVersionKind(); kind.Kind == "CustomResourceDefinition" && kind.Group == definitions.Group {
				names = append(names, o.GetName())
			}
		}
	}
	return k.established(names, r)
}

// resourceOf returns where an object is. Helm creates objects of any kind that are in the directory crds.
func (k *Call) resourceOf(o *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	gvk := o.GroupVersionKind()
	mapping, err := k.Getter.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return nil, err
	}
	if mapping.Scope.Name() == meta.RESTScopeNameRoot {
		return k.Dynamic.Resource(mapping.Resource), nil
	}
	return k.Dynamic.Resource(mapping.Resource).Namespace(cmp.Or(o.GetNamespace(), k.Name.Namespace)), nil
}

// established waits until the API server serves what CRDs define.
func (k *Call) established(names []string, r helmclient.Install) error {
	var waiting []helmclient.Object
	err := k.poll("the custom resource definitions of release "+k.Name.String(), Timeout(r.Wait), hookInterval, func(ctx context.Context) (bool, error) {
		waiting = nil
		for _, name := range names {
			o, err := k.Dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
			if final(err) != nil {
				return false, err
			}
			if err != nil {
				return false, nil
			}
			if ready, reason := readiness.State(o); !ready {
				waiting = append(waiting, helmclient.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: name, Reason: reason})
			}
		}
		return len(waiting) == 0, nil
	})
	if errors.Is(err, errTime) {
		return &helmclient.NotReadyError{Release: k.Name, After: Timeout(r.Wait), Objects: waiting}
	}
	if err != nil {
		return k.explain(err, nil)
	}
	if len(names) > 0 {
		k.Getter.mapper.Reset()
	}
	return nil
}

// documents reads the objects in the YAML documents of a file, those of lists too.
func documents(text []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(append(bytes.Clone(text), '\n')), len(text)+1)
	for {
		o := &unstructured.Unstructured{}
		err := decoder.Decode(&o.Object)
		switch {
		case errors.Is(err, io.EOF):
			return out, nil
		case err == nil && o.IsList():
			err = o.EachListItem(func(item runtime.Object) error {
				out = append(out, item.(*unstructured.Unstructured)) //nolint:forcetypeassert // EachListItem makes them
				return nil
			})
		case len(o.Object) > 0:
			out = append(out, o)
		}
		if err != nil {
			return nil, err
		}
	}
}
