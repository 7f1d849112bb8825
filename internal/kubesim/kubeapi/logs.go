package kubeapi

import (
	"slices"
	"strconv"
	"strings"
)

// log answers what a container has written: two lines, of which the second says how the container ends.
func (q *request) log(pod Object) any {
	query := q.http.URL.Query()
	containers := slices.Concat(list(pod, "spec", "initContainers"), list(pod, "spec", "containers"))
	i := max(0, slices.IndexFunc(containers, func(c any) bool { return Text(c, "name") == query.Get("container") }))
	name := Text(containers[i], "name")
	lines := []string{name + " begins", name + " runs"}
	if f := fate(Text(containers[i], "image")); f == "crash" || f == "fail" {
		lines[1] = "fatal: " + name + " cannot go on"
	}
	if n, err := strconv.Atoi(query.Get("tailLines")); err == nil {
		lines = lines[max(0, len(lines)-n):]
	}
	return strings.Join(lines, "\n") + "\n"
}
