// Package controlplane runs kubeadm, or a script of the package that runs it, on machines. It knows of machines only, not of operations on a
// cluster.
package controlplane

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Program makes machines nodes.
type Program interface {
	// Init makes the first control-plane node.
	Init(ctx context.Context, n mgmt.Node) error
	// Join makes a further node.
	Join(ctx context.Context, n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) error
}

// Bootstrap is what later steps must know of the new control plane. It is journaled: no secret in it.
type Bootstrap struct {
	Endpoint string // host:port of the API, as nodes are told
	CAHash   string // sha256:..., which joining nodes pin
	Version  string `json:",omitempty"` // of Kubernetes, of a cluster that exists
}

// Credentials let machines join. They are never stored.
type Credentials struct {
	Token          string
	CertificateKey string // for control-plane nodes
}

// Kubeadm is the Program that gives kubeadm its configuration itself.
type Kubeadm struct {
	Version                  string // of Kubernetes
	Endpoint                 string // host:port of the API
	PodSubnet, ServiceSubnet string
	SANs                     []string // names and addresses that clients of the API may use
	Components               []any    // configuration files of components that are not as kubeadm has them by itself
	IgnorePreflight          []string
	Register                 func(mgmt.Node) Registration
}

// Registration is what a node has from the beginning.
type Registration struct {
	Labels string   // as the option of the kubelet takes them
	Taints *[]Taint // nil: what kubeadm does by itself
}

// Taint of a node, as kubeadm's configuration has it.
type Taint struct {
	Key    string `yaml:"key"`
	Value  string `yaml:"value,omitempty"`
	Effect string `yaml:"effect"`
}

// InitConfig is what kubeadm init is given.
func (k Kubeadm) InitConfig(n mgmt.Node) ([]byte, error) {
	return Marshal(append([]any{k.initConfiguration(n), k.clusterConfiguration()}, k.Components...)...)
}

// JoinConfig is what kubeadm join is given.
func (k Kubeadm) JoinConfig(n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) ([]byte, error) {
	return Marshal(k.joinConfig(n, b, c, controlPlane))
}

// Init implements Program.
func (k Kubeadm) Init(ctx context.Context, n mgmt.Node) error {
	config, err := k.InitConfig(n)
	if err != nil {
		return err
	}
	return run(ctx, n, config, "init")
}

// Join implements Program.
func (k Kubeadm) Join(ctx context.Context, n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) error {
	config, err := k.JoinConfig(n, b, c, controlPlane)
	if err != nil {
		return err
	}
	return run(ctx, n, config, "join")
}

// createToken lets machines join with a token, until it expires.
func (k Kubeadm) createToken(ctx context.Context, n mgmt.Node, token string) error {
	config, err := Marshal(initConfiguration{typeMeta: k.kind("InitConfiguration"), BootstrapTokens: []bootstrapToken{bootstrapTokenFor(token, tokenTTL)}})
	if err != nil {
		return err
	}
	return run(ctx, n, config, "token", "create")
}

// run gives kubeadm its configuration on standard input, so that no file with a token stays on the
// machine. sshd's standard input is a socket, which /dev/stdin cannot open: hence the pipe.
func run(ctx context.Context, n mgmt.Node, config []byte, verb ...string) error {
	argv := slices.Concat([]string{"sh", "-c", `cat | "$@"`, "sh", "flock", lock, "kubeadm"}, verb, []string{"--config", "/dev/stdin"})
	return jointoken.Masked(n.RunRoot(ctx, argv, bytes.NewReader(config), nil, nil))
}

// lock is held on a machine while kubeadm changes it: what a process has begun that died runs on there,
// and two at once would spoil each other's work.
const lock = "/run/vnfkit-kubeadm.lock"

// Await waits until kubeadm does not run on a machine any more.
func Await(ctx context.Context, n mgmt.Node) error {
	return n.RunRoot(ctx, []string{"flock", lock, "true"}, nil, nil, nil)
}

// Reset ends what kubeadm has started on a machine, and removes its files.
func Reset(ctx context.Context, n mgmt.Node) error {
	return n.RunRoot(ctx, []string{"flock", lock, "kubeadm", "reset", "--force"}, nil, nil, nil)
}

// leftovers are the files by which kubeadm knows that a machine is, or was, a node.
const leftovers sshexec.Shell = "test -e /etc/kubernetes/kubelet.conf || test -e /etc/kubernetes/pki/ca.crt || test -e /etc/kubernetes/manifests/kube-apiserver.yaml"

// IsUsed reports whether kubeadm has run on a machine.
func IsUsed(ctx context.Context, n mgmt.Node) (bool, error) {
	err := n.SSH.Exec(ctx, sshexec.Command{Shell: leftovers, Root: true})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// Describe returns what joining nodes must know of the cluster of a control-plane node.
func Describe(ctx context.Context, n mgmt.Node, endpoint string) (Bootstrap, error) {
	ca, err := n.SSH.ReadFile(ctx, sshexec.File{Path: "/etc/kubernetes/pki/ca.crt", Root: true})
	if err != nil {
		return Bootstrap{}, err
	}
	hash, err := CAHash(ca)
	return Bootstrap{Endpoint: endpoint, CAHash: hash}, err
}

// CAHash is the pin of a certificate authority as kubeadm takes it: over the public key info.
func CAHash(data []byte) (string, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return "", errors.New("kubeadm: the cluster's CA certificate is not PEM")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return "", fmt.Errorf("kubeadm: the cluster's CA certificate: %w", err)
	}
	sum := sha256.Sum256(cert.RawSubjectPublicKeyInfo)
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// initTokenTTL is how long the token of init is valid if the driver does not revoke it.
const initTokenTTL = time.Minute
