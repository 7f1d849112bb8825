package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var (
	volumeKind = Kind{"", "v1", "persistentvolumes", "PersistentVolume", false}
	claimKind  = Kind{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", true}
)

// checkVolume refuses a change of the place of the data of a persistent volume. A new one is Pending until the controller has
// processed it.
func (q *request) checkVolume(old, o Object) {
	if old == nil {
		inner(o, "status")["phase"] = "Pending"
		return
	}
	q.fixed(old, o, "spec", sourceOf(o["spec"]))
}

// sourceOf is the field of the spec of a persistent volume that says where its data are, such as nfs; "" if the volume has no source.
func sourceOf(spec any) string {
	for field := range reflect.TypeFor[corev1.PersistentVolumeSource]().Fields() {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); at(spec, name) != nil {
			return name
		}
	}
	return ""
}

// objects returns all objects of a kind, by key. A caller that changes one must store it.
func (c *Cluster) objects(k Kind) (out []Object, err error) {
	prefix := k.prefix()
	var keys []string
	for key := range c.Objects {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		o := c.object(key)
		if o == nil {
			return nil, fmt.Errorf("kubesim: %s is no object", key)
		}
		out = append(out, o)
	}
	return out, nil
}

// object returns the object with this key, decoded once, or nil if the cluster has no object with this key.
func (c *Cluster) object(key string) Object {
	if o := c.history.decoded[key]; o != nil {
		return o
	}
	var o Object
	if raw, there := c.Objects[key]; !there || json.Unmarshal(raw, &o) != nil {
		return nil
	}
	if c.history.decoded == nil {
		c.history.decoded = map[string]Object{}
	}
	c.history.decoded[key] = o
	return o
}

// controlVolumes does the work of the volume controllers since the last request.
func (c *Cluster) controlVolumes() error {
	volumes, err := c.objects(volumeKind)
	if err != nil || len(volumes) == 0 {
		return err
	}
	claims, err := c.objects(claimKind)
	if err != nil {
		return err
	}
	for _, v := range volumes {
		was := Text(v, "status", "phase")
		phase := c.phaseOf(v, claims)
		if phase != "Bound" && at(v, "metadata", "deletionTimestamp") != nil {
			c.drop(volumeKind.key("", Text(v, "metadata", "name")))
			continue
		}
		if phase == was {
			continue
		}
		inner(v, "status")["phase"] = phase
		if err := c.Store(volumeKind, v); err != nil {
			return err
		}
	}
	return nil
}

// phaseOf binds a volume to the first claim that waits for one of its class, if the volume is free.
func (c *Cluster) phaseOf(v Object, claims []Object) string {
	name := Text(v, "metadata", "name")
	ref := at(v, "spec", "claimRef")
	for _, claim := range claims {
		namespace, claimName, wanted := Text(claim, "metadata", "namespace"), Text(claim, "metadata", "name"), Text(claim, "spec", "volumeName")
		if Text(ref, "namespace") == namespace && Text(ref, "name") == claimName {
			return "Bound"
		}
		if ref != nil || Text(claim, "status", "phase") == "Bound" || wanted != "" && wanted != name ||
			Text(claim, "spec", "storageClassName") != Text(v, "spec", "storageClassName") {
			continue
		}
		inner(v, "spec")["claimRef"] = Object{"kind": "PersistentVolumeClaim", "apiVersion": "v1", "namespace": namespace, "name": claimName}
		inner(claim, "spec")["volumeName"], inner(claim, "status")["phase"] = name, "Bound"
		if c.Store(claimKind, claim) == nil {
			return "Bound"
		}
	}
	if ref != nil {
		return "Released"
	}
	return "Available"
}

// asExpected refuses to delete an object that is another one, or was changed, since the client has looked.
func (q *request) asExpected(o Object) error {
	var options struct {
		Preconditions struct {
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
		} `json:"preconditions"`
	}
	if json.Unmarshal(q.body, &options) != nil {
		return nil
	}
	p := options.Preconditions
	if p.UID != "" && p.UID != Text(o, "metadata", "uid") || p.ResourceVersion != "" && p.ResourceVersion != Text(o, "metadata", "resourceVersion") {
		return apiFault(http.StatusConflict, "Conflict", "Precondition failed: the object %s has been modified", q.path.name)
	}
	return nil
}
