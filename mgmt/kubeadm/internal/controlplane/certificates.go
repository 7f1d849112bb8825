package controlplane

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
)

const (
	directory = "/etc/kubernetes/"
	adminConf = directory + "admin.conf"
)

// renewed are the files with certificates that "kubeadm certs renew all" replaces on a control-plane node with its own etcd member.
// super-admin.conf, since Kubernetes 1.29, is on the first node only.
var renewed = []string{"pki/apiserver.crt", "pki/apiserver-kubelet-client.crt", "pki/apiserver-etcd-client.crt", "pki/front-proxy-client.crt",
	"pki/etcd/server.crt", "pki/etcd/peer.crt", "pki/etcd/healthcheck-client.crt",
	"admin.conf", "controller-manager.conf", "scheduler.conf", superAdmin}

const superAdmin = "super-admin.conf"

// Certificates are the certificates of a control-plane node by file. A certificate that cannot be read is nil: kubeadm was ended while
// it wrote the file.
type Certificates map[string]*x509.Certificate

// ReadCertificates reads the certificates that RenewCertificates replaces. A missing file is an error.
func ReadCertificates(ctx context.Context, n mgmt.Node) (Certificates, error) {
	out := Certificates{}
	for _, name := range renewed {
		cert, err := readCertificate(ctx, n, name)
		if errors.Is(err, fs.ErrNotExist) && name == superAdmin {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = cert
	}
	return out, nil
}

// readCertificate returns nil for a file without a certificate, and an error that is fs.ErrNotExist if the file does not exist.
func readCertificate(ctx context.Context, n mgmt.Node, name string) (*x509.Certificate, error) {
	text, exists, err := n.Root().Read(ctx, directory+name)
	if err == nil && !exists {
		err = fmt.Errorf("kubeadm: %s has no file %s, and kubeadm does not renew it: %w", n.Label(), directory+name, fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	if strings.HasSuffix(name, ".conf") {
		config, _ := kubeaccess.ReadNodeConfig(text)
		text = config.Certificate
	}
	return parseCertificate(text), nil
}

// Check returns the faults of certificates after a renewal: kubeadm ends with exit code 0 also if it has renewed nothing, or with
// another type of key. shorter allows that a certificate ends earlier than the one before, as by certificateValidityPeriod.
func (c Certificates) Check(before Certificates, shorter bool) error {
	var faults []error
	for _, name := range slices.Sorted(maps.Keys(before)) {
		was, is := before[name], c[name]
		fault := func(format string, args ...any) {
			faults = append(faults, fmt.Errorf("kubeadm: the certificate in "+directory+name+" "+format, args...))
		}
		switch {
		case is == nil:
			fault("cannot be read after the renewal")
		case was == nil:
		case was.Equal(is):
			fault("was not renewed; kubeadm needs the key of its authority, such as %spki/ca.key", directory)
		case keyType(was) != keyType(is):
			fault("has a key of type %s now, and had %s", keyType(is), keyType(was))
		case !shorter && is.NotAfter.Before(was.NotAfter):
			fault("ends on %s now, and ended on %s", is.NotAfter.Format(time.RFC3339), was.NotAfter.Format(time.RFC3339))
		}
	}
	return errors.Join(faults...)
}

// Digest returns a short text that differs for other certificates.
func (c Certificates) Digest() string {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if c[name] != nil {
			_, _ = h.Write(c[name].Raw)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

func keyType(cert *x509.Certificate) string {
	switch key := cert.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA-%d", key.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA-" + key.Params().Name
	}
	return cert.PublicKeyAlgorithm.String()
}

// parseCertificate returns nil for a text without a certificate.
func parseCertificate(text []byte) *x509.Certificate {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return nil
	}
	return cert
}

// Configuration is the ClusterConfiguration of a running cluster as kubeadm stores it in YAML.
type Configuration string

// RenewCertificates renews all certificates of a control-plane node, whether or not they have ended, and checks the result. kubeadm gets
// the cluster's configuration: without it kubeadm asks the API, and falls back to its defaults if the API does not answer.
func (c Configuration) RenewCertificates(ctx context.Context, n mgmt.Node) error {
	config, head, err := c.on(n)
	if err != nil {
		return err
	}
	if err := Await(ctx, n); err != nil { // a kubeadm of an earlier process
		return err
	}
	before, err := ReadCertificates(ctx, n)
	if err != nil {
		return err
	}
	if err := run(ctx, n, config, "certs", "renew", "all"); err != nil {
		return err
	}
	after, err := ReadCertificates(ctx, n)
	if err != nil {
		return err
	}
	return after.Check(before, head.Validity != "")
}

// configurationHead is the part of a ClusterConfiguration that the driver reads.
type configurationHead struct {
	APIVersion string `yaml:"apiVersion"`
	Validity   string `yaml:"certificateValidityPeriod"`
}

func (c Configuration) head() (head configurationHead, err error) {
	if err := yaml.Unmarshal([]byte(c), &head); err != nil || head.APIVersion == "" {
		return head, errors.Join(errors.New("kubeadm: the ConfigMap kubeadm-config has no ClusterConfiguration"), err)
	}
	return head, nil
}

// on returns the configuration with what kubeadm would otherwise find out on the machine, and its head.
func (c Configuration) on(n mgmt.Node) ([]byte, configurationHead, error) {
	head, err := c.head()
	if err != nil {
		return nil, head, err
	}
	node, err := Marshal(localConfiguration{typeMeta{head.APIVersion, "InitConfiguration"}, nodeRegistration{Name: n.HostName, CRISocket: containerdSocket},
		localAPIEndpoint{n.IP.String()}})
	return bytes.Join([][]byte{[]byte(c), node}, []byte("\n---\n")), head, err
}

// localConfiguration is the part of an InitConfiguration that kubeadm would otherwise find out on the machine.
type localConfiguration struct {
	typeMeta         `yaml:",inline"`
	NodeRegistration nodeRegistration `yaml:"nodeRegistration"`
	LocalAPIEndpoint localAPIEndpoint `yaml:"localAPIEndpoint"`
}

// APIServerCertificate reads the certificate of the API server of a node.
func APIServerCertificate(ctx context.Context, n mgmt.Node) (*x509.Certificate, error) {
	const file = directory + "pki/apiserver.crt"
	text, err := n.Root().ReadFile(ctx, file)
	if err != nil {
		return nil, err
	}
	cert := parseCertificate(text)
	if cert == nil {
		return nil, fmt.Errorf("kubeadm: %s: %s has no certificate", n.Label(), file)
	}
	return cert, nil
}

// CheckServed returns an error unless the API server of a node serves the certificate in its file.
func CheckServed(ctx context.Context, n mgmt.Node) error {
	ca, err1 := n.Root().ReadFile(ctx, directory+"pki/ca.crt")
	file, err2 := APIServerCertificate(ctx, n)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(ca)
	conn, err := n.SSH.DialContext(ctx, "tcp", "127.0.0.1:6443")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	secure := tls.Client(conn, &tls.Config{RootCAs: roots, ServerName: "kubernetes", MinVersion: tls.VersionTLS12})
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	if served := secure.ConnectionState().PeerCertificates[0]; !served.Equal(file) {
		return fmt.Errorf("kubeadm: the API server of %s still serves the certificate that ends on %s", n.Label(), served.NotAfter.Format(time.RFC3339))
	}
	return nil
}

// CopyAdmin replaces the kubeconfigs of root and of the login user by admin.conf if they are older copies: a client certificate of the same
// subject for the same address of the same cluster.
func CopyAdmin(ctx context.Context, n mgmt.Node) error {
	home, err := n.SSH.Output(ctx, sshexec.Command{Shell: `printf %s "$HOME"`})
	if err != nil {
		return err
	}
	admin, err := n.Root().ReadFile(ctx, adminConf)
	if err != nil {
		return err
	}
	const roots = "/root/.kube/config"
	for _, name := range []string{string(home) + "/.kube/config", roots} {
		text, exists, err := n.Root().Read(ctx, name)
		switch {
		case err != nil:
		case !exists || !isFormer(text, admin):
		case name == roots:
			err = n.Root().Write(ctx, name, admin, 0o600)
		default:
			err = n.SSH.Upload(ctx, bytes.NewReader(admin), sshexec.File{Path: name, Mode: 0o600})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isFormer reports whether a kubeconfig is an older copy of another one.
func isFormer(copied, admin []byte) bool {
	old, ok1 := kubeaccess.ReadNodeConfig(copied)
	now, ok2 := kubeaccess.ReadNodeConfig(admin)
	was, is := parseCertificate(old.Certificate), parseCertificate(now.Certificate)
	return ok1 && ok2 && was != nil && is != nil && !was.Equal(is) && was.Subject.String() == is.Subject.String() && bytes.Equal(old.CA, now.CA) && old.Server == now.Server
}

// kubeletFile has the client certificate and the key of a kubelet that renews its certificate.
const (
	kubeletDirectory = "/var/lib/kubelet/pki/"
	kubeletFile      = kubeletDirectory + "kubelet-client-current.pem"
)

// KubeletCertificate returns the client certificate that the kubelet of a node renews by itself.
func KubeletCertificate(ctx context.Context, n mgmt.Node) (*x509.Certificate, error) {
	text, err := n.Root().ReadFile(ctx, kubeletFile)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return x509.ParseCertificate(block.Bytes)
		}
	}
	return nil, fmt.Errorf("kubeadm: %s has no certificate", kubeletFile)
}

// CertificateFiles are the files with certificates that a control-plane node with its own etcd member has, below /etc/kubernetes.
func CertificateFiles() []string {
	return append(slices.Clone(renewed), "pki/ca.crt", "pki/etcd/ca.crt", "pki/front-proxy-ca.crt")
}
