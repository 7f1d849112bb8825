package helmsdk

import (
	"context"
	"fmt"

	"helm.sh/helm/v3/pkg/chart"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	"bytes"
	"errors"
	"io"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// manager is who owns the fields of CRDs that are replaced.
const manager = "vnfkit"

// crds applies the CRDs of a chart when they are to be replaced, and waits until the API server serves them. Those that
// are only created are Helm's own work, which it does when it installs.
func (k *call) crds(ch *chart.Chart, r helmclient.Install) error {
	switch r.CRDs {
	case helmclient.CRDCreate, helmclient.CRDSkip:
		return nil
	case helmclient.CRDCreateReplace:
	default:
		return fmt.Errorf("%w: CRDs: %q is not known", helmclient.ErrInvalid, r.CRDs)
	}
	if r.DryRun {
		return nil
	}
	var names []string
	for _, file := range ch.CRDObjects() {
		objects, err := documents(file.File.Data)
		if err != nil {
			return fmt.Errorf("%w: %s: %w", helmclient.ErrInvalidChart, file.Filename, err)
		}
		for _, o := range objects {
			if o.GetKind() != "CustomResourceDefinition" || o.GroupVersionKind().Group != definitions.Group {
				return fmt.Errorf("%w: %s: holds a %s, must be CustomResourceDefinitions", helmclient.ErrInvalidChart, file.Filename, o.GetKind())
			}
			if _, err := k.dynamic.Resource(definitions.GroupResource().WithVersion(o.GroupVersionKind().Version)).
				Apply(k.ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: manager, Force: true}); err != nil {
				return k.explain(fmt.Errorf("CRD %s: %w", o.GetName(), err), nil)
			}
			names = append(names, o.GetName())
		}
	}
	return k.established(names, r)
}

// established waits until the API server serves what CRDs define.
func (k *call) established(names []string, r helmclient.Install) error {
	c := k.cfg.KubeClient.(*kubeClient) //nolint:forcetypeassert // which configure has put there
	var waiting []helmclient.Object
	err := c.poll(timeout(r.Wait), hookInterval, func(ctx context.Context) (bool, error) {
		waiting = nil
		for _, name := range names {
			o, err := k.dynamic.Resource(definitions).Get(ctx, name, metav1.GetOptions{})
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
		return &helmclient.NotReadyError{Release: k.name, After: timeout(r.Wait), Objects: waiting}
	}
	if err != nil {
		return k.explain(err, nil)
	}
	if mapper, ok := k.mapper.(meta.ResettableRESTMapper); ok && len(names) > 0 {
		mapper.Reset()
	}
	return nil
}

// documents reads the YAML documents of a file.
func documents(text []byte) ([]*unstructured.Unstructured, error) {
	var out []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text)+1)
	for {
		o := &unstructured.Unstructured{}
		switch err := decoder.Decode(&o.Object); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, err
		case len(o.Object) > 0:
			out = append(out, o)
		}
	}
}
