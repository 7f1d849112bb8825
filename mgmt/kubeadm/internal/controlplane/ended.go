package controlplane

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Ended says which certificates of a node have ended, so that other programs refuse them.
type Ended struct {
	Etcd    bool   `json:"etcd,omitempty"`    // of the member of etcd
	API     bool   `json:"api,omitempty"`     // of the API server, or of the clients by which the driver reaches it and etcd
	Kubelet string `json:"kubelet,omitempty"` // the user in the certificate of the kubelet, such as system:node:worker-1; "" if it has not ended
}

// ControlPlane reports whether a certificate of the control plane has ended.
func (e Ended) ControlPlane() bool { return e.Etcd || e.API }

// Files whose certificates are needed for etcd to have a quorum, and for the API to answer.
var (
	forEtcd = []string{"pki/etcd/server.crt", "pki/etcd/peer.crt"}
	forAPI  = []string{"pki/apiserver.crt", "pki/apiserver-etcd-client.crt", "pki/etcd/healthcheck-client.crt", "admin.conf"}
)

// beforeEnd is how long before its end a certificate of the control plane counts as ended: a renewal that begins then would find it ended.
const beforeEnd = 2 * time.Minute

// FindEnded reads which certificates of a node have ended, by the clock of the machine, and the user in the certificate of its kubelet, whether
// or not that has ended. Results beside an error are those that were read before the error.
func FindEnded(ctx context.Context, n mgmt.Node, controlPlane bool) (out Ended, user string, err error) {
	now, err := Clock(ctx, n)
	if err != nil {
		return out, "", err
	}
	var missing error
	if controlPlane {
		var found Certificates
		found, missing = readNeeded(ctx, n)
		out.Etcd, out.API = found.ended(now.Add(beforeEnd), forEtcd), found.ended(now.Add(beforeEnd), forAPI)
	}
	kubelet, err := readKubelet(ctx, n)
	if errors.Is(err, fs.ErrNotExist) {
		return out, "", missing
	}
	if err != nil {
		return out, "", errors.Join(missing, err)
	}
	user = kubelet.Subject.CommonName
	if kubelet.NotAfter.Before(now) {
		out.Kubelet = user
	}
	return out, user, missing
}

// readNeeded reads the certificates that etcd and the API need. Certificates beside an error are those of the other files.
func readNeeded(ctx context.Context, n mgmt.Node) (Certificates, error) {
	out := Certificates{}
	var errs []error
	for _, name := range slices.Concat(forEtcd, forAPI) {
		cert, err := readCertificate(ctx, n, name)
		if err == nil {
			out[name] = cert
		}
		errs = append(errs, err)
	}
	return out, errors.Join(errs...)
}

// ended reports whether one of the certificates in these files ends before a time, or cannot be parsed.
func (c Certificates) ended(at time.Time, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		cert, exists := c[name]
		return exists && (cert == nil || cert.NotAfter.Before(at))
	})
}

// Clock returns the time of a machine, by which its programs judge certificates, without fractions of a second.
func Clock(ctx context.Context, n mgmt.Node) (time.Time, error) {
	text, err := n.SSH.Output(ctx, sshexec.Command{Argv: []string{"date", "+%s"}})
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("kubeadm: the clock of %s: %w", n.Label(), err)
	}
	return time.Unix(seconds, 0), nil
}

// assumedConfiguration is the part of a ClusterConfiguration by which kubeadm signs certificates.
type assumedConfiguration struct {
	typeMeta          `yaml:",inline"`
	KubernetesVersion string `yaml:"kubernetesVersion"`
	Encryption        string `yaml:"encryptionAlgorithm,omitempty"` // since v1beta4
	Validity          string `yaml:"certificateValidityPeriod,omitempty"`
}

// Assume returns a configuration for a cluster whose API does not answer. By it kubeadm renews certificates with the type of key that those
// on the node have, for a time of validity; 0 is kubeadm's default. kubeadm copies names from the certificates, not from the configuration.
func Assume(ctx context.Context, n mgmt.Node, validity time.Duration) (Configuration, error) {
	version, err1 := output(ctx, n, "kubeadm", "version", "-o", "short")
	found, err2 := ReadCertificates(ctx, n)
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	k := Kubeadm{Version: version, Validity: validity}
	c := assumedConfiguration{typeMeta: k.kind("ClusterConfiguration"), KubernetesVersion: "v" + k.Version}
	if kubeversion.Minor(version) >= 31 {
		c.Encryption = found.algorithm()
	}
	if validity > 0 {
		c.Validity = validity.String()
	}
	text, err := Marshal(c)
	return Configuration(text), err
}

// algorithm returns kubeadm's name for the type of key of the certificates.
func (c Certificates) algorithm() string {
	certificates := slices.DeleteFunc(slices.Collect(maps.Values(c)), func(cert *x509.Certificate) bool { return cert == nil })
	if len(certificates) == 0 {
		return ""
	}
	return strings.Replace(keyType(certificates[0]), "P-", "P", 1)
}

// DefaultValidity is how long kubeadm's certificates are valid unless the configuration says otherwise.
const DefaultValidity = 365 * 24 * time.Hour

// Validity returns how long certificates by the configuration are valid.
func (c Configuration) Validity() (time.Duration, error) {
	head, err := c.head()
	if err != nil || head.Validity == "" {
		return DefaultValidity, err
	}
	return time.ParseDuration(head.Validity)
}

// ErrForeignKubelet reports that the certificate of a kubelet is not one that the cluster has given it.
var ErrForeignKubelet = errors.New("kubeadm: the kubelet has a certificate that the cluster has not given it")

// readKubelet returns the client certificate of the kubelet of a node. It returns ErrForeignKubelet unless the machine has the key, because
// certificates of other nodes can be read by many, and unless the user can be a node.
func readKubelet(ctx context.Context, n mgmt.Node) (*x509.Certificate, error) {
	text, err := n.Root().ReadFile(ctx, kubeletFile)
	if errors.Is(err, fs.ErrNotExist) { // the link is being replaced
		text, err = n.Root().ReadFile(ctx, kubeletRenewed)
	}
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(text, text)
	if err == nil {
		err = checkUser(pair.Leaf, pair.Leaf.Subject.CommonName)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeignKubelet, err)
	}
	return pair.Leaf, nil
}

const (
	nodeUser    = "system:node:" // and the name of the Node
	maxNodeName = 253            // DNS subdomain
)

// checkUser returns an error unless a certificate is for this user, and the user is a node.
func checkUser(cert *x509.Certificate, user string) error {
	name, isNode := strings.CutPrefix(user, nodeUser)
	subject := cert.Subject
	if !isNode || len(name) > maxNodeName || subject.CommonName != user || !slices.Equal(subject.Organization, []string{"system:nodes"}) {
		return fmt.Errorf("its user is %.80q of %.80q", subject.CommonName, subject.Organization)
	}
	return nil
}

// checkClient returns an error unless a certificate is for the kubelet of this user, and valid at a time by an authority.
func checkClient(cert *x509.Certificate, authority []byte, at time.Time, user string) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	if _, err := cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: at, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		return err
	}
	return checkUser(cert, user)
}

// kubeletRenewed has a client certificate that the driver has made.
const kubeletRenewed = kubeletDirectory + "kubelet-client-renewed.pem"

// Kubelet is the kubelet of a node that needs a new client certificate.
type Kubelet struct {
	node  mgmt.Node
	user  string
	shown *x509.Certificate
	now   time.Time // by the clock of the machine
}

// FindKubelet reads the certificate of the kubelet of a node. It returns ErrForeignKubelet if the machine lacks the key.
func FindKubelet(ctx context.Context, n mgmt.Node, user string) (Kubelet, error) {
	shown, err1 := readKubelet(ctx, n)
	now, err2 := Clock(ctx, n)
	return Kubelet{n, user, shown, now}, errors.Join(err1, err2)
}

// Sign has kubeadm on a control-plane node sign a client certificate for the user of a kubelet, and returns the certificate and its key in one
// PEM text. It needs no API. It returns ErrForeignKubelet unless the authority of the cluster has signed the certificate that the kubelet has: a machine may
// show any certificate.
func (k Kubelet) Sign(ctx context.Context, by mgmt.Node, c Configuration) ([]byte, error) {
	config, _, err1 := c.on(by)
	validity, err2 := c.Validity()
	authority, err3 := by.Root().ReadFile(ctx, directory+"pki/ca.crt")
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, err
	}
	if err := checkClient(k.shown, authority, k.shown.NotAfter, k.user); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrForeignKubelet, err)
	}
	verb := []string{"kubeconfig", "user", "--org", "system:nodes", "--client-name", k.user}
	if validity != DefaultValidity { // an older kubeadm may lack the option
		verb = append(verb, "--validity-period", validity.String())
	}
	text, err := by.Root().Output(ctx, sshexec.Command{Argv: withConfig(verb...), Stdin: bytes.NewReader(config)})
	if err != nil {
		return nil, jointoken.Masked(err)
	}
	signed, _ := kubeaccess.ReadNodeConfig(text)
	pair, err := tls.X509KeyPair(signed.Certificate, signed.Key)
	if err == nil {
		err = checkClient(pair.Leaf, authority, k.now, k.user)
	}
	if err != nil {
		return nil, fmt.Errorf("kubeadm: kubeadm on %s signed no valid certificate for %s: %w", by.Label(), k.user, err)
	}
	return encodePair(pair)
}

// encodePair returns a certificate and its key as PEM.
func encodePair(pair tls.Certificate) ([]byte, error) {
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		return nil, err
	}
	return slices.Concat(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Leaf.Raw}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})), nil
}

// Install gives the kubelet a certificate that Sign has returned, and restarts the kubelet, because a kubelet does not renew a certificate that
// has ended.
func (k Kubelet) Install(ctx context.Context, pair []byte) error {
	if err := k.node.Root().Write(ctx, kubeletRenewed, pair, 0o600); err != nil {
		return err
	}
	// The kubelet renews its certificate only if this file is a link.
	if err := k.node.Root().Run(ctx, "ln", "-sfT", kubeletRenewed, kubeletFile); err != nil {
		return err
	}
	return k.node.Root().Unit(ctx, "restart", "kubelet")
}
