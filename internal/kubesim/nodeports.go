package kubesim

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
)

var serviceKind = apiKind{"", "v1", "services", "Service", true}

// nodePort returns the target of kube-proxy for a port of a node: a ready pod of the Service with that port. Without a
// ready pod there is none, and connections are refused.
func (w *World) nodePort(m *machine, number string) (port, bool) {
	c := w.state.Clusters[m.Cluster]
	if c == nil || !m.runs("kubelet") || c.Nodes[m.Node] == nil {
		return port{}, false
	}
	_ = w.runControllers(c) // the kubelets have their say
	pod := w.endpoint(c, m.Node, number)
	if pod == nil {
		return port{}, false
	}
	answer := fmt.Sprintf("%s on %s\n", textAt(pod, "metadata", "name"), textAt(pod, "spec", "nodeName"))
	return port{serve: func(_ *World, _ string, conn net.Conn) {
		serveHTTP(conn, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(answer)) })
	}}, true
}

// endpoint is a ready pod of the Service with a node port, on that node if the Service leads to no other
// (externalTrafficPolicy Local).
func (w *World) endpoint(c *cluster, node, number string) object {
	services, err := c.objects(serviceKind)
	if err != nil {
		return nil
	}
	for _, s := range services {
		if !hasNodePort(s, number) || len(inner(inner(s, "spec"), "selector")) == 0 {
			continue
		}
		pods, err := c.objects(podKind)
		if err != nil {
			return nil
		}
		for _, pod := range pods {
			on := textAt(pod, "spec", "nodeName")
			if textAt(pod, "metadata", "namespace") == textAt(s, "metadata", "namespace") && at(pod, "metadata", "deletionTimestamp") == nil && hasCondition(pod, "Ready") &&
				selects(object{"matchLabels": at(s, "spec", "selector")}, at(pod, "metadata", "labels")) &&
				c.Nodes[on] != nil && w.ready(c, c.Nodes[on]) && (on == node || textAt(s, "spec", "externalTrafficPolicy") != "Local") {
				return pod
			}
		}
	}
	return nil
}

func hasNodePort(service object, number string) bool {
	if kind := textAt(service, "spec", "type"); kind != "NodePort" && kind != "LoadBalancer" {
		return false
	}
	for _, p := range list(service, "spec", "ports") {
		if n, ok := numberAt(p, "nodePort"); ok && strconv.Itoa(n) == number && textAt(p, "protocol") == "TCP" {
			return true
		}
	}
	return false
}
