package kubesim

import (
	"crypto/tls"
	"net"
	"net/http"
)

const apiPort = "6443"

// hasAPI reports whether an API server listens on the machine. It ends if the member of its machine refuses its certificate.
func (w *World) hasAPI(m *machine) bool {
	c := w.state.Clusters[m.Cluster]
	return c != nil && m.runs("kubelet") && c.Etcd.Of(m.ID) != nil && w.inTime(m, apiEtcdCert) && w.hasStatic(m, "kube-apiserver")
}

// serveAPI speaks HTTPS on one connection as the API server of the machine.
func (w *World) serveAPI(id string, conn net.Conn) {
	clusterID, config := w.apiServer(id)
	if config == nil {
		_ = conn.Close()
		return
	}
	serveHTTPS(conn, config, func(rw http.ResponseWriter, r *http.Request) { w.answer(id, clusterID, rw, r) })
}

// apiServer returns the cluster whose API server runs on a machine, and the TLS configuration of that server, or nil.
func (w *World) apiServer(id string) (clusterID string, config *tls.Config) {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.state.Machines[id]
	if m == nil || !w.hasAPI(m) {
		return "", nil
	}
	c := w.state.Clusters[m.Cluster]
	cert, err := w.serverCertificate(c, m)
	if err != nil {
		return "", nil
	}
	return c.ID, &tls.Config{Certificates: []tls.Certificate{cert}, ClientCAs: c.ClientCAs(), ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS12}
}

// answer has a cluster answer a request to the API server of a machine.
func (w *World) answer(id, clusterID string, rw http.ResponseWriter, r *http.Request) {
	var observed func(machine, method, path string)
	var c *cluster
	w.locked(func() { observed, c = w.observed, w.state.Clusters[clusterID] })
	if c == nil {
		panic(http.ErrAbortHandler) // the server no longer runs
	}
	if observed != nil {
		observed(id, r.Method, r.URL.Path)
	}
	c.Serve(rw, r, func() bool {
		m := w.state.Machines[id]
		return w.state.Clusters[clusterID] == c && m != nil && m.Cluster == clusterID && w.hasAPI(m)
	})
}
