package kubesim

import (
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// Files with certificates that programs of a node read again and again, and with which they are refused after their end.
const (
	kubeletCert = "/var/lib/kubelet/pki/kubelet-client-current.pem" // by API servers
	apiEtcdCert = "/etc/kubernetes/pki/apiserver-etcd-client.crt"   // by etcd
	peerCert    = "/etc/kubernetes/pki/etcd/peer.crt"               // by other members of etcd
)

// inTime reports whether the certificate in a file of a machine has not ended. It is true for a machine without the file.
func (w *World) inTime(m *machine, name string) bool {
	files := w.files[m.ID]
	if files == nil {
		return true
	}
	text, err := afero.ReadFile(files(), name)
	if err != nil {
		return true
	}
	until, known := w.ends[string(text)]
	if !known {
		if cert, err := pki.Parse(text); err == nil {
			until = cert.NotAfter
		}
		w.ends[string(text)] = until
	}
	return w.nowFunc().Before(until)
}
