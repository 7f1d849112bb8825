package kubeapi

import (
	"errors"
	"fmt"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var budgetKind = Kind{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", true}

// budgets is the controller of disruption budgets.
func budgets(c *Cluster) error {
	all, err := c.objects(budgetKind)
	if err != nil {
		return err
	}
	for _, budget := range all {
		healthy, needed, pods, err := c.health(budget)
		if err != nil {
			return err
		}
		budget["status"] = Object{"observedGeneration": at(budget, "metadata", "generation"), "currentHealthy": healthy, "desiredHealthy": needed,
			"expectedPods": pods, "disruptionsAllowed": max(0, healthy-needed)}
		if err := c.Store(budgetKind, budget); err != nil {
			return err
		}
	}
	return nil
}

// health counts the pods of a budget, those of them that are healthy, and those that must be.
func (c *Cluster) health(budget Object) (healthy, needed, pods int, err error) {
	all, err := c.objects(podKind)
	if err != nil {
		return 0, 0, 0, err
	}
	for _, pod := range all {
		if !guards(budget, pod) {
			continue
		}
		pods++
		if at(pod, "metadata", "deletionTimestamp") == nil && hasCondition(pod, "Ready") {
			healthy++
		}
	}
	if v := at(budget, "spec", "minAvailable"); v != nil {
		needed = share(v, pods, true)
	}
	if v := at(budget, "spec", "maxUnavailable"); v != nil {
		needed = max(0, pods-share(v, pods, true))
	}
	return healthy, needed, pods, nil
}

func guards(budget, pod Object) bool {
	return Text(budget, "metadata", "namespace") == Text(pod, "metadata", "namespace") && selects(at(budget, "spec", "selector"), pod)
}

// evict ends a pod unless a disruption budget forbids it (policy/v1).
func (q *request) evict(pod Object) (any, error) {
	eviction, err := q.decode()
	if err != nil {
		return nil, err
	}
	if Text(eviction, "kind") != "Eviction" || Text(eviction, "apiVersion") != "policy/v1" {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "no kind %q is registered for version %q", Text(eviction, "kind"), Text(eviction, "apiVersion"))
	}
	if name := Text(eviction, "metadata", "name"); name != "" && name != q.path.name {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", "name in URL does not match name in Eviction object")
	}
	all, err := q.c.objects(budgetKind)
	if err != nil {
		return nil, err
	}
	for _, budget := range all {
		if !guards(budget, pod) || !hasCondition(pod, "Ready") {
			continue
		}
		healthy, needed, _, err := q.c.health(budget)
		if err != nil {
			return nil, err
		}
		if healthy <= needed {
			name := Text(budget, "metadata", "name")
			inner(inner(pod, "metadata"), "annotations")[guarded] = budgetKind.key(q.path.namespace, name)
			err := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 0)
			err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: policyv1.DisruptionBudgetCause,
				Message: fmt.Sprintf("The disruption budget %s needs %d healthy pods and has %d currently", name, needed, healthy)}}
			return nil, errors.Join(err, q.c.Store(podKind, pod))
		}
	}
	return Object{"kind": "Status", "apiVersion": "v1", "status": "Success"}, q.c.endPod(pod, nil)
}
