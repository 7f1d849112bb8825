package kubesim

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
)

const etcdPort = "2379"

// hasEtcd reports whether a member of etcd listens on the machine.
func (w *World) hasEtcd(m *machine) bool {
	c := w.state.Clusters[m.Cluster]
	if c == nil {
		return false
	}
	e := c.Etcd.Of(m.ID)
	return e != nil && w.alive(c, *e)
}

func (w *World) serveEtcd(id string, conn net.Conn) {
	config, err := w.etcdTLS(id)
	if err != nil {
		_ = conn.Close()
		return
	}
	serveHTTPS(conn, config, func(out http.ResponseWriter, r *http.Request) {
		etcd.Serve(out, r, func(method string, message []byte) ([][]byte, error) { return w.askEtcd(id, method, message) })
	})
}

// etcdTLS is made of the files of the machine, as etcd reads them.
func (w *World) etcdTLS(id string) (*tls.Config, error) {
	w.mu.Lock()
	files := w.files[id]
	w.mu.Unlock()
	if files == nil {
		return nil, errors.New("the machine is gone")
	}
	read := map[string][]byte{}
	for _, name := range []string{"ca.crt", "server.crt", "server.key"} {
		data, err := afero.ReadFile(files(), etcd.Dir+name)
		if err != nil {
			return nil, err
		}
		read[name] = data
	}
	pair, err := tls.X509KeyPair(read["server.crt"], read["server.key"])
	clients := x509.NewCertPool()
	if !clients.AppendCertsFromPEM(read["ca.crt"]) {
		err = errors.Join(err, errors.New("no CA"))
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}, ClientCAs: clients, ClientAuth: tls.RequireAndVerifyClientCert,
		NextProtos: []string{"h2"}, MinVersion: tls.VersionTLS12}, err
}

// askEtcd calls a method of the member of a machine.
func (w *World) askEtcd(id, method string, message []byte) (answers [][]byte, err error) {
	w.change(func() {
		m := w.state.Machines[id]
		if m == nil || w.state.Clusters[m.Cluster] == nil {
			err = etcd.ErrTimeout
			return
		}
		c := w.state.Clusters[m.Cluster]
		answers, err = c.Etcd.Answer(c.ID, id, method, message, w.members(c), etcd.Data{Revision: c.Revision, Content: c.Backup})
	})
	return answers, err
}
