package kubeapi

import (
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

var apiServiceKind = Kind{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false}

// aggregated returns the APIServices that have a Service: other API servers. No one of them is simulated, so that they
// are never available.
func (c *Cluster) aggregated() (out []Object) {
	all, _ := c.objects(apiServiceKind)
	return slices.DeleteFunc(all, func(o Object) bool { return at(o, "spec", "service") == nil })
}

// proxied answers requests to aggregated APIs as the aggregator does without an endpoint: as plain text.
func (q *request) proxied() error {
	for _, o := range q.c.aggregated() {
		prefix := "/apis/" + Text(o, "spec", "group") + "/" + Text(o, "spec", "version")
		if q.http.URL.Path == prefix || strings.HasPrefix(q.http.URL.Path, prefix+"/") {
			return apierrors.NewServiceUnavailable("service unavailable")
		}
	}
	return nil
}

// apiServices sets the conditions of APIServices.
func apiServices(c *Cluster) error {
	for _, o := range c.aggregated() {
		name := Text(o, "spec", "service", "name")
		where := fmt.Sprintf("service/%s in %q", name, Text(o, "spec", "service", "namespace"))
		reason, message := "MissingEndpoints", "endpoints for "+where+" have no addresses with port name \"\""
		if strings.Contains(c.unreachable(o["spec"]), "not found") {
			reason, message = "ServiceNotFound", where+" is not present"
		}
		if err := c.setStatus(apiServiceKind, o, Object{"conditions": []any{condition(o, "Available", "False", reason, message)}}); err != nil {
			return err
		}
	}
	return nil
}

// undiscovered names the versions of APIs that cannot be discovered, in the words of client-go; "" if all can.
func (c *Cluster) undiscovered() string {
	var versions []string
	for _, o := range c.aggregated() {
		versions = append(versions, Text(o, "spec", "group")+"/"+Text(o, "spec", "version")+": stale GroupVersion discovery: "+Text(o, "spec", "group")+"/"+Text(o, "spec", "version"))
	}
	if versions == nil {
		return ""
	}
	return "unable to retrieve the complete list of server APIs: " + strings.Join(versions, ", ")
}
