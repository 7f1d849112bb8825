package kubeapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

const (
	mutating   = "MutatingWebhookConfiguration"
	validating = "ValidatingWebhookConfiguration"
)

// webhookLists are the kinds that register admission webhooks, in the order in which the API server calls them. Webhooks
// are not called for objects of these kinds.
var webhookLists = []string{mutating, validating}

// callWebhooks refuses a request for which the API server would call a webhook that cannot be reached. Webhooks that can
// be reached allow every request: what they answer is not simulated.
func (c *Cluster) callWebhooks(operation string, p apiPath, o Object, lists ...string) error {
	if slices.Contains(webhookLists, p.kind.Kind) {
		return nil
	}
	for _, kind := range lists {
		all, err := c.objects(Kind{Group: "admissionregistration.k8s.io", Version: "v1", Kind: kind})
		if err != nil {
			return err
		}
		for _, configuration := range all {
			for _, hook := range list(configuration, "webhooks") {
				if err := c.callWebhook(hook, operation, p, o); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *Cluster) callWebhook(hook any, operation string, p apiPath, o Object) error {
	if !c.concerns(hook, operation, p, o) {
		return nil
	}
	why := c.unreachable(at(hook, "clientConfig"))
	if why == "" || Text(hook, "failurePolicy") == "Ignore" {
		return nil
	}
	url := Text(hook, "clientConfig", "url")
	if service := at(hook, "clientConfig", "service"); service != nil {
		url = fmt.Sprintf("https://%s.%s.svc:%d%s", Text(service, "name"), Text(service, "namespace"), numberOr(443, service, "port"), cmp.Or(Text(service, "path"), "/"))
	}
	return apiFault(http.StatusInternalServerError, "InternalError", "Internal error occurred: failed calling webhook %q: failed to call webhook: Post %q: %s",
		Text(hook, "name"), fmt.Sprintf("%s?timeout=%ds", url, numberOr(10, hook, "timeoutSeconds")), why)
}

// concerns reports whether a webhook is called for a request.
func (c *Cluster) concerns(hook any, operation string, p apiPath, o Object) bool {
	namespace := o
	if p.kind.Namespaced {
		namespace = c.object(namespaceKind.key("", p.namespace))
	}
	if (p.kind.Namespaced || p.kind.Kind == "Namespace") && !selectsOrAll(at(hook, "namespaceSelector"), namespace) || !selectsOrAll(at(hook, "objectSelector"), o) {
		return false
	}
	return slices.ContainsFunc(list(hook, "rules"), func(rule any) bool {
		scope := cmp.Or(Text(rule, "scope"), "*")
		return matchesAny(rule, "operations", operation) && matchesAny(rule, "apiGroups", p.kind.Group) && matchesAny(rule, "apiVersions", p.kind.Version) &&
			matchesResource(at(rule, "resources"), p) && (scope == "*" || (scope == "Namespaced") == p.kind.Namespaced)
	})
}

func matchesAny(rule any, field, value string) bool {
	return slices.ContainsFunc(list(rule, field), func(v any) bool { return v == value || v == "*" })
}

// matchesResource finds a resource, and its subresource if there is one, in a rule: "pods", "*/scale", "pods/*".
func matchesResource(rule any, p apiPath) bool {
	return slices.ContainsFunc(texts(rule), func(text string) bool {
		resource, sub, _ := strings.Cut(text, "/")
		return (resource == "*" || resource == p.kind.Plural) && (sub == "*" || sub == p.sub)
	})
}

// selectsOrAll is selects for a selector without which all objects are selected.
func selectsOrAll(selector any, o Object) bool {
	return selector == nil || selects(selector, o)
}

// unreachable says why the API server cannot connect to a webhook or an aggregated API, "" if it can.
func (c *Cluster) unreachable(client any) string {
	service := at(client, "service")
	if service == nil {
		return "dial tcp: lookup " + strings.TrimPrefix(Text(client, "url"), "https://") + ": no such host"
	}
	namespace, name := Text(service, "namespace"), Text(service, "name")
	o := c.object(Kind{Version: "v1", Kind: "Service", Namespaced: true}.key(namespace, name))
	if o == nil {
		return fmt.Sprintf("service %q not found", name)
	}
	if c.hasEndpoint(o) {
		return ""
	}
	return fmt.Sprintf("dial tcp %s:%d: connect: connection refused", Text(o, "spec", "clusterIP"), numberOr(443, service, "port"))
}

// hasEndpoint reports whether a pod behind a Service is ready. A Service without a selector has the addresses of its Endpoints.
func (c *Cluster) hasEndpoint(service Object) bool {
	namespace := Text(service, "metadata", "namespace")
	selector, _ := at(service, "spec", "selector").(Object)
	if len(selector) == 0 {
		endpoints := c.object(Kind{Version: "v1", Kind: "Endpoints", Namespaced: true}.key(namespace, Text(service, "metadata", "name")))
		return slices.ContainsFunc(list(endpoints, "subsets"), func(s any) bool { return len(list(s, "addresses")) > 0 })
	}
	pods, err := c.objects(podKind)
	return err == nil && slices.ContainsFunc(pods, func(p Object) bool {
		return Text(p, "metadata", "namespace") == namespace && hasCondition(p, "Ready") && selects(Object{"matchLabels": selector}, p)
	})
}
