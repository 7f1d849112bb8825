package kubeapi

import (
	"reflect"
	"slices"
	"strings"
)

var definitionKind = Kind{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false}

// scalePaths say where the fields of a Scale are in an object.
type scalePaths struct {
	spec, status, selector []string
}

// definitionOf finds the definition of a custom kind, and its version.
func (c *Cluster) definitionOf(k Kind) (crd, version Object) {
	definitions, err := c.objects(definitionKind)
	if err != nil {
		return nil, nil
	}
	for _, crd := range definitions {
		versions, _ := at(crd, "spec", "versions").([]any)
		i := slices.IndexFunc(versions, func(v any) bool { return Text(v, "name") == k.Version })
		if Text(crd, "spec", "group") == k.Group && Text(crd, "spec", "names", "kind") == k.Kind && i >= 0 {
			version, _ := versions[i].(Object)
			return crd, version
		}
	}
	return nil, nil
}

// hasStatus reports whether clients change the status of objects only by a subresource.
func (c *Cluster) hasStatus(k Kind) bool {
	if !k.custom() {
		typed := k.typed() // nil of CustomResourceDefinition and APIService, which have one
		return typed == nil || reflect.ValueOf(typed).Elem().FieldByName("Status").IsValid()
	}
	_, version := c.definitionOf(k)
	return at(version, "subresources", "status") != nil
}

// scaleOf is nil for kinds that cannot be scaled.
func (c *Cluster) scaleOf(k Kind) *scalePaths {
	if !k.custom() {
		if slices.Contains([]string{"Deployment", "ReplicaSet", "StatefulSet", "ReplicationController"}, k.Kind) {
			return &scalePaths{spec: []string{"spec", "replicas"}, status: []string{"status", "replicas"}}
		}
		return nil
	}
	_, version := c.definitionOf(k)
	scale, declared := at(version, "subresources", "scale").(Object)
	if !declared {
		return nil
	}
	path := func(name string) []string {
		if text := strings.TrimPrefix(Text(scale, name), "."); text != "" {
			return strings.Split(text, ".")
		}
		return nil
	}
	return &scalePaths{path("specReplicasPath"), path("statusReplicasPath"), path("labelSelectorPath")}
}
