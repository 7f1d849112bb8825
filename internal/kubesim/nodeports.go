package kubesim

import (
	"fmt"
	"net"
	"net/http"
)

// nodePort returns the target of kube-proxy for a port of a node: a ready pod of the Service with that port. Without a
// ready pod there is none, and connections are refused.
func (w *World) nodePort(m *machine, number string) port {
	c := w.state.Clusters[m.Cluster]
	if c == nil || !m.runs("kubelet") || c.Nodes[m.Node] == nil {
		return nil
	}
	pod, on := c.PodBehind(m.Node, number)
	if pod == "" {
		return nil
	}
	answer := fmt.Sprintf("%s on %s\n", pod, on)
	return func(_ string, conn net.Conn) {
		serveHTTP(conn, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte(answer)) })
	}
}
