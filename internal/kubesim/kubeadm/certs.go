package kubeadm

import (
	"cmp"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/pki"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

const directory = "/etc/kubernetes/"

// signed are certificates of a control-plane node with the certificate of their CA, both without suffix.
var signed = [][2]string{
	{"pki/apiserver", "pki/ca"}, {"pki/apiserver-kubelet-client", "pki/ca"}, {"pki/apiserver-etcd-client", "pki/etcd/ca"}, {"pki/front-proxy-client", "pki/front-proxy-ca"},
	{"pki/etcd/server", "pki/etcd/ca"}, {"pki/etcd/peer", "pki/etcd/ca"}, {"pki/etcd/healthcheck-client", "pki/etcd/ca"},
}

// users are the kubeconfigs of a control-plane node with a client certificate: names and groups.
var users = map[string][2]string{
	"admin.conf":              {"kubernetes-admin", kubeapi.Administrators},
	"controller-manager.conf": {"system:kube-controller-manager", ""},
	"scheduler.conf":          {"system:kube-scheduler", ""},
}

// components are the static pods of a control-plane node.
var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// validity returns how long certificates are valid. A cluster of an older file has none.
func (cl *Cluster) validity() time.Duration { return cmp.Or(cl.Validity, kubeadmconf.DefaultValidity) }

// controlPlaneFiles returns the certificates, kubeconfigs and manifests of a control-plane node, except those of etcd.
func (c *call) controlPlaneFiles(cl *Cluster, m Machine, node string, u *customized) (map[string]string, error) {
	now := c.w.Now()
	server, err := cl.ServerCertificate(node, m.Address, now, now.Add(cl.validity()))
	if err != nil {
		return nil, err
	}
	kubelet, err := pki.Issue(&pki.Pair{Cert: cl.CA, Key: cl.CAKey}, clientTemplate("kube-apiserver-kubelet-client", kubeapi.Administrators, now.Add(cl.validity())), now)
	if err != nil {
		return nil, err
	}
	proxy, err := pki.Issue(&cl.FrontProxy, clientTemplate("front-proxy-client", "", now.Add(cl.validity())), now)
	if err != nil {
		return nil, err
	}
	files := map[string]string{"pki/front-proxy-ca.crt": cl.FrontProxy.Cert, "pki/front-proxy-ca.key": cl.FrontProxy.Key, "pki/front-proxy-client.crt": proxy.Cert, "pki/front-proxy-client.key": proxy.Key,
		"pki/sa.key": cl.Accounts.Key, "pki/sa.pub": cl.Accounts.Cert,
		"pki/ca.key": cl.CAKey, "pki/apiserver.crt": server.Cert, "pki/apiserver.key": server.Key,
		"pki/apiserver-kubelet-client.crt": kubelet.Cert, "pki/apiserver-kubelet-client.key": kubelet.Key}
	for name, user := range users {
		if files[name], err = cl.Kubeconfig(user[0], user[1], now, now.Add(cl.validity())); err != nil {
			return nil, err
		}
	}
	for _, name := range components {
		if files["manifests/"+name+".yaml"], err = u.manifest(name, m.Kubeadm); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func clientTemplate(name, group string, until time.Time) *x509.Certificate {
	return &x509.Certificate{Subject: pkix.Name{CommonName: name, Organization: []string{group}}, NotAfter: until,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
}

// renewCertificates is "kubeadm certs renew all". It ends with success also if files or the key of a CA are missing, as kubeadm does.
// Without --config kubeadm asks the API for the configuration and takes its defaults if the API does not answer: that is refused.
func (c *call) renewCertificates(args []string) error {
	var config string
	rest, err := c.Flags(args, func(f *pflag.FlagSet) { f.StringVar(&config, "config", "", "") })
	if err != nil || len(rest) > 0 {
		return errors.Join(err, program.Unexpected(rest))
	}
	if config == "" {
		return errors.New("kubesim: certs renew without --config falls back to defaults")
	}
	f, err := kubeadmconf.ReadFile(c.Call, config)
	if err != nil {
		return err
	}
	if f.Cluster == nil {
		return errors.New("kubesim: certs renew takes the configuration of the cluster")
	}
	valid := f.Cluster.ValidityOfCertificates()
	for _, files := range signed {
		if err := c.renewFile(directory+files[0], directory+files[1], f.Cluster.Encryption, valid); err != nil {
			return err
		}
	}
	for name := range users {
		if err := c.renewKubeconfig(directory+name, f.Cluster.Encryption, valid); err != nil {
			return err
		}
	}
	c.Printf("Done renewing certificates. You must restart the kube-apiserver, kube-controller-manager, kube-scheduler and etcd, so that they can use the new certificates.\n")
	return nil
}

// renewFile replaces a certificate and its key.
func (c *call) renewFile(name, ca, algorithm string, valid time.Duration) error {
	old, err := afero.ReadFile(c.FS, name+".crt")
	if err != nil {
		c.Printf("MISSING! certificate %s\n", path.Base(name))
		return nil
	}
	pair, err := c.reissue(old, ca, algorithm, valid)
	if err != nil || pair == nil {
		return err
	}
	return errors.Join(c.Write(name+".key", pair.Key, 0o600), c.Write(name+".crt", pair.Cert, 0o644))
}

// renewKubeconfig replaces the client certificate of a kubeconfig.
func (c *call) renewKubeconfig(name, algorithm string, valid time.Duration) error {
	old, err := afero.ReadFile(c.FS, name)
	if err != nil {
		c.Printf("MISSING! certificate embedded in %s\n", name)
		return nil
	}
	cert, key, err := kubeapi.UserOf(old)
	if err != nil {
		return err
	}
	pair, err := c.reissue([]byte(cert), directory+"pki/ca", algorithm, valid)
	if err != nil || pair == nil {
		return err
	}
	encode := base64.StdEncoding.EncodeToString
	text := strings.NewReplacer(encode([]byte(cert)), encode([]byte(pair.Cert)), encode([]byte(key)), encode([]byte(pair.Key))).Replace(string(old))
	return c.Write(name, text, 0o600)
}

// reissue signs a certificate with the subject and the names of an old one. It returns nil if the key of the CA is missing.
func (c *call) reissue(old []byte, ca, algorithm string, valid time.Duration) (*pki.Pair, error) {
	signer, err1 := afero.ReadFile(c.FS, ca+".crt")
	key, err2 := afero.ReadFile(c.FS, ca+".key")
	if errors.Join(err1, err2) != nil {
		c.Printf("certificate authority %s: CA is externally managed, the certificate can't be renewed\n", path.Base(ca))
		return nil, nil //nolint:nilnil // kubeadm ends with success
	}
	was, err := pki.Parse(old)
	if err != nil {
		return nil, err
	}
	now := c.w.Now()
	template := &x509.Certificate{Subject: was.Subject, DNSNames: was.DNSNames, IPAddresses: was.IPAddresses, KeyUsage: was.KeyUsage, ExtKeyUsage: was.ExtKeyUsage, NotAfter: now.Add(valid)}
	issue := pki.Issue
	if strings.HasPrefix(algorithm, "RSA") {
		issue = pki.IssueRSA
	}
	pair, err := issue(&pki.Pair{Cert: string(signer), Key: string(key)}, template, now)
	return &pair, err
}

// kubeconfigOf is "kubeadm kubeconfig user": it prints a kubeconfig with a new client certificate. It needs no API.
func (c *call) kubeconfigOf(args []string) error {
	var config, name, org string
	var valid time.Duration
	rest, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.StringVar(&config, "config", "", "")
		f.StringVar(&name, "client-name", "", "")
		f.StringVar(&org, "org", "", "")
		f.DurationVar(&valid, "validity-period", kubeadmconf.DefaultValidity, "")
	})
	if err != nil || len(rest) > 0 {
		return errors.Join(err, program.Unexpected(rest))
	}
	if name == "" {
		return errors.New(`error: required flag(s) "client-name" not set`)
	}
	f, err := kubeadmconf.ReadFile(c.Call, config)
	if err != nil {
		return err
	}
	if f.Cluster == nil {
		return errors.New("kubesim: kubeconfig user takes the configuration of the cluster")
	}
	ca, err1 := afero.ReadFile(c.FS, directory+"pki/ca.crt")
	key, err2 := afero.ReadFile(c.FS, directory+"pki/ca.key")
	if err := errors.Join(err1, err2); err != nil {
		return fmt.Errorf("error: failed to load CA: %w", err)
	}
	of := kubeapi.Cluster{CA: string(ca), CAKey: string(key), Endpoint: f.Cluster.ControlPlaneEndpoint}
	text, err := of.Kubeconfig(name, org, c.w.Now(), c.w.Now().Add(valid))
	c.Printf("%s", text)
	return err
}

// kubeletFile has the client certificate that a kubelet renews by itself.
const kubeletFile = "/var/lib/kubelet/pki/kubelet-client-current.pem"

func (c *call) writeKubeletFile(cl *Cluster, node string) error {
	now := c.w.Now()
	pair, err := pki.Issue(&pki.Pair{Cert: cl.CA, Key: cl.CAKey}, clientTemplate("system:node:"+node, "system:nodes", now.Add(cl.validity())), now)
	if err != nil {
		return err
	}
	return c.Write(kubeletFile, pair.Cert+pair.Key, 0o600)
}
