package kubeapi

import "strconv"

var serviceKind = Kind{"", "v1", "services", "Service", true}

// PodBehind is a ready pod of the Service with a node port, and its node: the given one if the Service leads to no other
// (externalTrafficPolicy Local). Without such a pod both are "".
func (c *Cluster) PodBehind(node, number string) (pod, on string) {
	_ = c.RunControllers() // the kubelets have their say
	services, err := c.objects(serviceKind)
	if err != nil {
		return "", ""
	}
	for _, s := range services {
		if !hasNodePort(s, number) || len(inner(inner(s, "spec"), "selector")) == 0 {
			continue
		}
		pods, err := c.objects(podKind)
		if err != nil {
			return "", ""
		}
		for _, pod := range pods {
			on := Text(pod, "spec", "nodeName")
			if Text(pod, "metadata", "namespace") == Text(s, "metadata", "namespace") && at(pod, "metadata", "deletionTimestamp") == nil && hasCondition(pod, "Ready") &&
				selects(Object{"matchLabels": at(s, "spec", "selector")}, pod) &&
				c.Nodes[on] != nil && c.ready(c.Nodes[on]) && (on == node || Text(s, "spec", "externalTrafficPolicy") != "Local") {
				return Text(pod, "metadata", "name"), on
			}
		}
	}
	return "", ""
}

func hasNodePort(service Object, number string) bool {
	if kind := Text(service, "spec", "type"); kind != "NodePort" && kind != "LoadBalancer" {
		return false
	}
	for _, p := range list(service, "spec", "ports") {
		if n, ok := numberAt(p, "nodePort"); ok && strconv.Itoa(n) == number && Text(p, "protocol") == "TCP" {
			return true
		}
	}
	return false
}
