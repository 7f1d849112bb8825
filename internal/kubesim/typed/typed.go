// Package typed makes simulated API servers check the fields of built-in kinds by the types of client-go, which link some 300
// packages. Tests import it for that effect:
//
//	import _ "github.com/vnfkit/vnfkit/internal/kubesim/typed"
//
// Then they refuse a misspelt field of a driver, and a field of a wrong type. Kinds that client-go does not know
// (CustomResourceDefinitions, and those that they define) are not checked.
package typed

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

func init() { kubeapi.CheckFields(check) }

func check(apiVersion, kind string, object map[string]any) (unknown []string, err error) {
	typed, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(apiVersion, kind))
	if err != nil {
		return nil, nil //nolint:nilerr // a kind that client-go does not know
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object, typed, true)
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
