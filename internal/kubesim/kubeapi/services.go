package kubeapi

import (
	"cmp"
	"fmt"
	"slices"
)

// defaultService gives a Service its address and its ports. It uses the first 65000 addresses of kubeadm's range,
// 10.96.0.0/12.
func (q *request) defaultService(old, spec Object) {
	setDefault(spec, "type", "ClusterIP")
	for _, item := range list(spec, "ports") {
		port, _ := item.(Object)
		setDefault(port, "protocol", "TCP")
		setDefault(port, "targetPort", port["port"])
		switch {
		case Text(spec, "type") == "LoadBalancer" && spec["allocateLoadBalancerNodePorts"] == false:
			if n, _ := numberAt(port, "nodePort"); n == 0 {
				delete(port, "nodePort")
			}
		case outside(spec):
			q.keepNodePort(old, port)
		}
	}
	if Text(spec, "type") == "ExternalName" {
		return
	}
	was := Text(old, "spec", "clusterIP")
	switch is := Text(spec, "clusterIP"); {
	case is == "" && was != "":
		spec["clusterIP"] = was
	case is == "":
		q.c.Addresses++
		n := q.c.Addresses + 20
		spec["clusterIP"] = fmt.Sprintf("10.96.%d.%d", n/250, n%250+1)
	}
	spec["clusterIPs"] = []any{spec["clusterIP"]}
}

// outside reports whether a Service has ports at all nodes.
func outside(spec any) bool {
	return Text(spec, "type") == "NodePort" || Text(spec, "type") == "LoadBalancer"
}

// nodePortOf is the port that a port of a Service had at all nodes.
func nodePortOf(old Object, port any) any {
	was := list(old, "spec", "ports")
	if i := indexOfPort(was, port); i >= 0 {
		return at(was[i], "nodePort")
	}
	return nil
}

// indexOfPort finds the port of a Service that has the number and the protocol of another one.
func indexOfPort(ports []any, port any) int {
	wanted, _ := numberAt(port, "port")
	return slices.IndexFunc(ports, func(p any) bool {
		n, _ := numberAt(p, "port")
		return n == wanted && cmp.Or(Text(p, "protocol"), "TCP") == cmp.Or(Text(port, "protocol"), "TCP")
	})
}

// keepNodePort gives a port of a Service the port that it has at all nodes, the same as before.
func (q *request) keepNodePort(old, port Object) {
	if n, _ := numberAt(port, "nodePort"); n != 0 {
		return
	}
	if port["nodePort"] = nodePortOf(old, port); port["nodePort"] == nil {
		q.c.Addresses++
		port["nodePort"] = 30000 + q.c.Addresses%2768
	}
}
