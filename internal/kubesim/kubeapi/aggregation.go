package kubeapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

var apiServiceKind = Kind{"apiregistration.k8s.io", "v1", "apiservices", "APIService", false}

// aggregated returns the APIServices that have a Service: other API servers.
func (c *Cluster) aggregated() (out []Object) {
	all, _ := c.objects(apiServiceKind)
	return slices.DeleteFunc(all, func(o Object) bool { return at(o, "spec", "service") == nil })
}

// errNoEndpoint is answered as plain text: the aggregator makes no Status of it.
var errNoEndpoint = errors.New("service unavailable")

// proxied answers requests to aggregated APIs: without an endpoint as the aggregator does, otherwise as an API without resources.
func (q *request) proxied() (any, error) {
	for _, o := range q.c.aggregated() {
		version := Text(o, "spec", "group") + "/" + Text(o, "spec", "version")
		rest, is := strings.CutPrefix(q.http.URL.Path+"/", "/apis/"+version+"/")
		switch {
		case !is:
		case q.c.unreachable(o["spec"]) != "":
			return nil, errNoEndpoint
		case rest == "":
			return Object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": []any{}}, nil
		}
	}
	return nil, nil
}

// apiServices sets the conditions of APIServices.
func apiServices(c *Cluster) error {
	for _, o := range c.aggregated() {
		name := Text(o, "spec", "service", "name")
		where := fmt.Sprintf("service/%s in %q", name, Text(o, "spec", "service", "namespace"))
		available := condition(o, "Available", "False", "MissingEndpoints", "endpoints for "+where+" have no addresses with port name \"\"")
		switch why := c.unreachable(o["spec"]); {
		case why == "":
			available = condition(o, "Available", "True", "Passed", "all checks passed")
		case strings.Contains(why, "not found"):
			available = condition(o, "Available", "False", "ServiceNotFound", where+" is not present")
		}
		if err := c.setStatus(apiServiceKind, o, Object{"conditions": []any{available}}); err != nil {
			return err
		}
	}
	return nil
}

// undiscovered names the versions of APIs that cannot be discovered, in the words of client-go; "" if all can.
func (c *Cluster) undiscovered() string {
	var versions []string
	for _, o := range c.aggregated() {
		if version := Text(o, "spec", "group") + "/" + Text(o, "spec", "version"); c.unreachable(o["spec"]) != "" {
			versions = append(versions, version+": stale GroupVersion discovery: "+version)
		}
	}
	if versions == nil {
		return ""
	}
	return "unable to retrieve the complete list of server APIs: " + strings.Join(versions, ", ")
}
