package kubeadm

import (
	"errors"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
)

// readPair reads a certificate, or a public key, and its key if a machine has both.
func (c *call) readPair(cert, key string, to *pki.Pair) {
	text, err1 := afero.ReadFile(c.FS, cert)
	secret, err2 := afero.ReadFile(c.FS, key)
	if errors.Join(err1, err2) == nil {
		*to = pki.Pair{Cert: string(text), Key: string(secret)}
	}
}

// continued gives a new cluster the authorities that the machine has, as kubeadm init uses them. If the machine has data of etcd too, which etcdutl has
// restored, the data say which cluster it is. It returns the data, nil without.
func (c *call) continued(cl *Cluster) (*etcd.Restored, error) {
	authority := pki.Pair{Cert: cl.CA, Key: cl.CAKey}
	c.readPair(directory+"pki/ca.crt", directory+"pki/ca.key", &authority)
	c.readPair(directory+"pki/sa.pub", directory+"pki/sa.key", &cl.Accounts)
	c.readPair(directory+"pki/front-proxy-ca.crt", directory+"pki/front-proxy-ca.key", &cl.FrontProxy)
	c.readPair(etcd.Dir+"ca.crt", etcd.Dir+"ca.key", &cl.Etcd.CA)
	cl.CA, cl.CAKey, cl.Signer = authority.Cert, authority.Key, cl.Accounts.Cert
	if !c.Exists(etcdData) {
		return nil, nil //nolint:nilnil // see above
	}
	r, err := etcd.ReadRestored(c.FS, EtcdData)
	if err != nil {
		return nil, err
	}
	return &r, cl.Adopt(r.Content)
}

// beginEtcd starts the first member: with the data of the machine if it has some.
func (c *call) beginEtcd(cl *Cluster, r *etcd.Restored, m Machine) error {
	if r == nil {
		cl.Etcd.Members[0].Address = m.Address
		return c.writeEtcdData(cl)
	}
	if len(r.Members) != 1 || r.Members[0].Address != m.Address {
		return errors.New("kubesim: the data of etcd are those of other members")
	}
	cl.Etcd.Members, cl.Etcd.Token = r.Members, r.Token
	cl.Etcd.Members[0].Machine = m.ID
	if err := cl.Load(r.Content); err != nil {
		return err
	}
	return cl.SetProxy()
}
