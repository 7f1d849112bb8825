package objects

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Absent returns those of the objects that do not exist, or whose names belong to other objects now. It leaves out objects that end by
// themselves, and objects whose names the API server has generated.
func (c *Client) Absent(ctx context.Context, refs []Ref) (absent []Ref, err error) {
	refs = slices.DeleteFunc(slices.Clone(refs), func(r Ref) bool { return r.Name == "" || r.endsByItself() })
	objs, err := c.read(ctx, refs)
	for i, r := range refs {
		if err == nil && objs[i] == nil {
			absent = append(absent, r)
		}
	}
	return absent, err
}

// markedKinds are the kinds of objects that are searched for the label of VNF instances.
var markedKinds = []schema.GroupVersionKind{
	{Version: "v1", Kind: "Namespace"}, {Version: "v1", Kind: "Pod"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "PersistentVolumeClaim"}, {Version: "v1", Kind: "ReplicationController"},
	{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"}, {Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"}, {Group: "batch", Version: "v1", Kind: "Job"}, {Group: "batch", Version: "v1", Kind: "CronJob"},
}

// Marked is an object or a release with the label of a VNF instance.
type Marked struct {
	Instance string
	Ref      Ref
	Release  string // namespace/name; the object is then a revision of the release
}

// Marked returns the objects of markedKinds and the releases of Helm that have the label of any VNF instance, in all namespaces. Objects
// that a controller has made are left out. An error comes with the objects of the kinds that can be listed.
func (c *Client) Marked(ctx context.Context) (marked []Marked, err error) {
	var errs []error
	for _, gvk := range markedKinds {
		list, err := c.list(ctx, gvk, "", metav1.ListOptions{LabelSelector: Label})
		errs = append(errs, err)
		for i := range list {
			if metav1.GetControllerOf(&list[i]) == nil {
				marked = append(marked, Marked{Instance: list[i].GetLabels()[Label], Ref: RefOf(&list[i])})
			}
		}
	}
	revisions, err := c.list(ctx, schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, "", metav1.ListOptions{LabelSelector: Label + ",owner=helm,status!=superseded"})
	for i := range revisions {
		labels := revisions[i].GetLabels()
		marked = append(marked, Marked{Instance: labels[Label], Ref: RefOf(&revisions[i]), Release: revisions[i].GetNamespace() + "/" + labels["name"]})
	}
	slices.SortFunc(marked, func(a, b Marked) int {
		return cmp.Or(strings.Compare(a.Instance, b.Instance), strings.Compare(a.Release, b.Release), strings.Compare(a.Ref.String(), b.Ref.String()))
	})
	return marked, errors.Join(append(errs, err)...)
}
