package kubeapi

import (
	"fmt"
	"net/http"
	"strings"
)

// defaultService gives a Service its address and its ports. It uses the first 65000 addresses of kubeadm's range,
// 10.96.0.0/12.
func (q *request) defaultService(old, spec Object) error {
	setDefault(spec, "type", "ClusterIP")
	setDefault(spec, "sessionAffinity", "None")
	setDefault(spec, "internalTrafficPolicy", "Cluster")
	for _, item := range list(spec, "ports") {
		port, isMap := item.(Object)
		if !isMap {
			return apiFault(http.StatusBadRequest, "BadRequest", "json: cannot unmarshal into Go struct field ServiceSpec.spec.ports of type v1.ServicePort")
		}
		setDefault(port, "protocol", "TCP")
		setDefault(port, "targetPort", port["port"])
		if kind := Text(spec, "type"); kind == "NodePort" || kind == "LoadBalancer" {
			q.keepNodePort(old, port)
		}
	}
	if Text(spec, "type") == "ExternalName" {
		return nil
	}
	was := Text(old, "spec", "clusterIP")
	switch is := Text(spec, "clusterIP"); {
	case is == "" && was != "":
		spec["clusterIP"] = was
	case is == "":
		q.c.Addresses++
		n := q.c.Addresses + 20
		spec["clusterIP"] = fmt.Sprintf("10.96.%d.%d", n/250, n%250+1)
	case was != "" && is != was && Text(old, "spec", "type") != "ExternalName":
		return q.invalid(fmt.Sprintf("spec.clusterIPs[0]: Invalid value: [%q]: may not change once set", is))
	case was == "" && is != "None" && !strings.HasPrefix(is, "10."):
		return q.invalid(fmt.Sprintf("spec.clusterIPs: Invalid value: [%q]: failed to allocate IP %s: the provided IP is not in the valid range", is, is))
	}
	spec["clusterIPs"] = []any{spec["clusterIP"]}
	setDefault(spec, "ipFamilies", []any{"IPv4"})
	setDefault(spec, "ipFamilyPolicy", "SingleStack")
	return nil
}

// keepNodePort gives a port of a Service the port that it has at all nodes, the same as before.
func (q *request) keepNodePort(old, port Object) {
	if port["nodePort"] != nil {
		return
	}
	if i := indexBy(list(old, "spec", "ports"), []string{"port", "protocol"}, port); i >= 0 {
		if was := at(list(old, "spec", "ports")[i], "nodePort"); was != nil {
			port["nodePort"] = was
			return
		}
	}
	q.c.Addresses++
	port["nodePort"] = 30000 + q.c.Addresses%2768
}
