package controlplane

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/linux"
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

// FindEnded reads which certificates of a node have ended, by the clock of the machine. A result beside an error has the certificates
// that were read before the error.
func FindEnded(ctx context.Context, n mgmt.Node, controlPlane bool) (out Ended, err error) {
	now, err := clock(ctx, n)
	if err != nil {
		return out, err
	}
	if controlPlane {
		found, err := ReadCertificates(ctx, n)
		if err != nil {
			return out, err
		}
		out.Etcd, out.API = found.ended(now.Add(beforeEnd), forEtcd), found.ended(now.Add(beforeEnd), forAPI)
	}
	kubelet, err := KubeletCertificate(ctx, n)
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err == nil && kubelet.NotAfter.Before(now) {
		out.Kubelet = kubelet.Subject.CommonName
	}
	return out, err
}

// ended reports whether one of the certificates ends before a time, or cannot be read.
func (c Certificates) ended(at time.Time, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return c[name] == nil || c[name].NotAfter.Before(at) })
}

// clock returns the time of a machine, by which its programs judge certificates.
func clock(ctx context.Context, n mgmt.Node) (time.Time, error) {
	text, err := n.SSH.Output(ctx, sshexec.Command{Argv: []string{"date", "+%s"}})
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("kubeadm: the clock of %s: %w", n.HostName, err)
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

// checkKubelet returns ErrForeignKubelet unless the kubelet of a node has, or had, a certificate for this user that the authority of the cluster has
// signed: a machine may show any certificate, and it gets a new one for the same user.
func checkKubelet(ctx context.Context, by, n mgmt.Node, user string) error {
	authority, err := by.SSH.ReadFile(ctx, sshexec.File{Path: directory + "pki/ca.crt", Root: true})
	if err != nil {
		return err
	}
	cert, err := clientCertificate(ctx, n, kubeletFile)
	if errors.Is(err, fs.ErrNotExist) { // the link is being replaced
		cert, err = clientCertificate(ctx, n, kubeletRenewed)
	}
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority)
	_, err = cert.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: cert.NotAfter, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
	subject := cert.Subject
	if err == nil && (subject.CommonName != user || !strings.HasPrefix(user, "system:node:") || !slices.Equal(subject.Organization, []string{"system:nodes"})) {
		err = fmt.Errorf("its user is %q of %q", subject.CommonName, subject.Organization)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrForeignKubelet, err)
	}
	return nil
}

// kubeletRenewed has a client certificate that the driver has made.
const kubeletRenewed = kubeletDirectory + "kubelet-client-renewed.pem"

// RenewKubelet gives the kubelet of a node a new client certificate for the same user, which kubeadm signs on a control-plane node, and restarts the
// kubelet. A kubelet does not renew a certificate that has ended. It needs no API.
func (c Configuration) RenewKubelet(ctx context.Context, by, n mgmt.Node, user string) error {
	config, err1 := c.on(by)
	validity, err2 := c.Validity()
	if err := errors.Join(err1, err2, checkKubelet(ctx, by, n, user)); err != nil {
		return err
	}
	verb := []string{"kubeconfig", "user", "--org", "system:nodes", "--client-name", user}
	if validity != DefaultValidity { // an older kubeadm may lack the option
		verb = append(verb, "--validity-period", validity.String())
	}
	text, err := by.SSH.Output(ctx, sshexec.Command{Argv: withConfig(verb...), Root: true, Stdin: bytes.NewReader(config)})
	if err != nil {
		return jointoken.Masked(err)
	}
	signed := readKubeconfig(text)
	if parseCertificate(signed.certificate) == nil || len(signed.key) == 0 {
		return fmt.Errorf("kubeadm: kubeadm on %s signed no certificate for %s", by.HostName, user)
	}
	pair := slices.Concat(signed.certificate, signed.key)
	if err := n.SSH.Upload(ctx, bytes.NewReader(pair), sshexec.File{Path: kubeletRenewed, Mode: 0o600, Root: true}); err != nil {
		return err
	}
	// The kubelet renews its certificate only if this file is a link.
	if err := linux.On(n.SSH).Run(ctx, "ln", "-sfT", kubeletRenewed, kubeletFile); err != nil {
		return err
	}
	return linux.On(n.SSH).Unit(ctx, "restart", "kubelet")
}
