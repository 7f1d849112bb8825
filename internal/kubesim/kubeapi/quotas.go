package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var quotaKind = Kind{"", "v1", "resourcequotas", "ResourceQuota", true}

// countedByName are the resources of the core API that a quota counts by their plain name.
var countedByName = []string{"pods", "services", "secrets", "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas"}

// checkQuota refuses an object that would exceed the number of objects that a quota of its namespace allows. The amounts of
// resources that pods ask for are not counted.
func (c *Cluster) checkQuota(k Kind, o Object) error {
	if !k.Namespaced {
		return nil
	}
	namespace, name := Text(o, "metadata", "namespace"), Text(o, "metadata", "name")
	quotas, err := c.objects(quotaKind)
	if err != nil {
		return err
	}
	refuse := func(format string, args ...any) error {
		return apierrors.NewForbidden(k.resource(), name, fmt.Errorf(format, args...))
	}
	for _, quota := range quotas {
		hard, _ := at(quota, "spec", "hard").(Object)
		if Text(quota, "metadata", "namespace") != namespace {
			continue
		}
		for _, what := range sortedNames(hard) {
			if !counts(what, k) {
				continue
			}
			used := c.count(k, namespace)
			if limit := fmt.Sprint(hard[what]); used >= amount(limit) {
				return refuse("exceeded quota: %s, requested: %s=1, used: %s=%d, limited: %s=%s", Text(quota, "metadata", "name"), what, what, used, what, limit)
			}
		}
	}
	return nil
}

// quotas sets the status of quotas: how many objects there are of what each counts.
func quotas(c *Cluster) error {
	all, err := c.objects(quotaKind)
	if err != nil {
		return err
	}
	kinds := c.kinds()
	for _, quota := range all {
		hard, _ := at(quota, "spec", "hard").(Object)
		used := Object{}
		for _, what := range sortedNames(hard) {
			for _, k := range kinds {
				if counts(what, k) {
					used[what] = fmt.Sprint(c.count(k, Text(quota, "metadata", "namespace")))
				}
			}
		}
		if err := c.setStatus(quotaKind, quota, Object{"hard": hard, "used": used}); err != nil {
			return err
		}
	}
	return nil
}

// counts reports whether a name in a quota counts objects of the kind.
func counts(what string, k Kind) bool {
	return what == "count/"+k.resource().String() || k.Group == "" && what == k.Plural && slices.Contains(countedByName, what)
}

// count counts the objects of a kind in a namespace, of pods those that have not ended.
func (c *Cluster) count(k Kind, namespace string) (n int) {
	for key := range c.Objects {
		phase := Text(c.object(key), "status", "phase")
		if strings.HasPrefix(key, k.prefix()+namespace+"/") && (k.Kind != "Pod" || phase != "Succeeded" && phase != "Failed") {
			n++
		}
	}
	return n
}

func amount(text string) (n int) {
	_, _ = fmt.Sscan(text, &n)
	return n
}
