package kubeapi

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// log answers what a container has written: two lines, of which the second says how the container ends.
func (q *request) log(pod Object) (any, error) {
	query := q.http.URL.Query()
	var container any
	for _, name := range podLists {
		for _, c := range list(pod, "spec", name) {
			if Text(c, "name") == query.Get("container") || query.Get("container") == "" {
				container = c
			}
		}
	}
	refuse := func(format string, args ...any) (any, error) {
		return nil, apiFault(http.StatusBadRequest, "BadRequest", format, args...)
	}
	name := Text(container, "name")
	statuses := slices.Concat(list(pod, "status", "initContainerStatuses"), list(pod, "status", "containerStatuses"))
	i := slices.IndexFunc(statuses, func(s any) bool { return Text(s, "name") == name })
	switch {
	case container == nil:
		return refuse("container %s is not valid for pod %s", query.Get("container"), q.path.name)
	case i < 0:
		return refuse("container %q in pod %q is waiting to start: ContainerCreating", name, q.path.name)
	case query.Get("previous") == "true" && at(statuses[i], "lastState", "terminated") == nil:
		return refuse("previous terminated container %q in pod %q not found", name, q.path.name)
	case query.Get("previous") != "true" && at(statuses[i], "state", "waiting") != nil && at(statuses[i], "lastState", "terminated") == nil:
		return refuse("container %q in pod %q is waiting to start: %s", name, q.path.name, Text(statuses[i], "state", "waiting", "reason"))
	}
	lines := []string{name + " begins", name + " runs"}
	if f := fate(Text(container, "image")); f == "crash" || f == "fail" {
		lines[1] = "fatal: " + name + " cannot go on"
	}
	if n, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-n):]
	}
	return strings.Join(lines, "\n") + "\n", nil
}
