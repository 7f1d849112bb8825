// Package controlplane runs kubeadm, or a script of the package that runs kubeadm, on machines. It works on given machines
// and does not depend on operations of a cluster.
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
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/sshexec"
)

// Program sets up machines as nodes of a cluster.
type Program interface {
	// Init sets up the first control-plane node.
	Init(ctx context.Context, n mgmt.Node) error
	// Join adds a node to the cluster.
	Join(ctx context.Context, n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) error
}

// Bootstrap describes the control plane for nodes that join. It is stored in the journal, so it has no secret.
type Bootstrap struct {
	Endpoint string // host:port of the API for nodes
	CAHash   string // sha256:..., by which joining nodes verify the CA
	Version  string `json:",omitempty"` // version of Kubernetes; only of an existing cluster
	Kubelet  string `json:",omitempty"` // version of kubelets that join, "" for Version
}

// Credentials allow machines to join. They are never stored.
type Credentials struct {
	Token          string
	CertificateKey string // for control-plane nodes only
}

// Kubeadm is a Program that runs kubeadm with a configuration that the driver writes.
type Kubeadm struct {
	Version                  string // version of Kubernetes
	Endpoint                 string // host:port of the API
	PodSubnet, ServiceSubnet string
	Repository               string        // registry and path of the images; "": kubeadm's default
	SANs                     []string      // names and addresses of the API for its certificate
	Validity                 time.Duration // of certificates; 0: kubeadm's default
	Components               []any         // configuration documents of components that differ from kubeadm's defaults
	User                     UserSettings
	IgnorePreflight          []string
	Register                 func(mgmt.Node) Registration
}

// Registration has the labels and taints with which a node registers.
type Registration struct {
	Labels string   // in the form of the kubelet's option
	Taints *[]Taint // nil: kubeadm's default
}

// Taint is a taint of a node in the form of kubeadm's configuration.
type Taint struct {
	Key    string `yaml:"key"`
	Value  string `yaml:"value,omitempty"`
	Effect string `yaml:"effect"`
}

// InitConfig returns the configuration for kubeadm init.
func (k Kubeadm) InitConfig(n mgmt.Node) ([]byte, error) {
	initial, err1 := k.merged(k.initConfiguration(n), k.User.Init, KubeletArgs)
	cluster, err2 := k.merged(k.clusterConfiguration(), k.User.Cluster, ArgPaths...)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return Marshal(append([]any{initial, cluster}, k.Components...)...)
}

// Configuration returns the configuration of the cluster that Init makes.
func (k Kubeadm) Configuration() (Configuration, error) {
	cluster, err := k.merged(k.clusterConfiguration(), k.User.Cluster, ArgPaths...)
	if err != nil {
		return "", err
	}
	text, err := Marshal(cluster)
	return Configuration(text), err
}

// JoinConfig returns the configuration for kubeadm join.
func (k Kubeadm) JoinConfig(n mgmt.Node, b Bootstrap, c Credentials, controlPlane bool) ([]byte, error) {
	document, err := k.merged(k.joinConfig(n, b, c, controlPlane), k.User.forJoin(), KubeletArgs)
	if err != nil {
		return nil, err
	}
	return Marshal(document)
}

// Init implements Program. kubeadm init only warns about a setting of a component that it does not know, and drops it, but
// config validate, which there is since 1.26, refuses it.
func (k Kubeadm) Init(ctx context.Context, n mgmt.Node) error {
	config, err := k.InitConfig(n)
	if err != nil {
		return err
	}
	if len(k.Components)+len(k.User.Cluster)+len(k.User.Init) > 0 && kubeversion.Minor(k.Version) >= 26 {
		if err := run(ctx, n, config, "config", "validate"); err != nil {
			return err
		}
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

// createToken creates a bootstrap token in the cluster.
func (k Kubeadm) createToken(ctx context.Context, n mgmt.Node, token string) error {
	config, err := Marshal(initConfiguration{typeMeta: k.kind("InitConfiguration"), BootstrapTokens: []bootstrapToken{bootstrapTokenFor(token, tokenTTL)}})
	if err != nil {
		return err
	}
	return run(ctx, n, config, "token", "create")
}

// run passes the configuration to kubeadm on standard input, so that no file with a token stays on the machine. The
// standard input of sshd is a socket, which /dev/stdin cannot open, so cat feeds it through a pipe.
func run(ctx context.Context, n mgmt.Node, config []byte, verb ...string) error {
	return jointoken.Masked(n.Root().Exec(ctx, sshexec.Command{Argv: withConfig(verb...), Stdin: bytes.NewReader(config)}))
}

// withConfig returns the command that runs kubeadm with a configuration on standard input.
func withConfig(verb ...string) []string {
	return slices.Concat([]string{"sh", "-c", `cat | "$@"`, "sh", "flock", lock, "kubeadm"}, verb, []string{"--config", "/dev/stdin"})
}

// lock is held on a machine while kubeadm changes it. A kubeadm that was started by a process that has died continues to
// run, and two kubeadm at the same time would corrupt each other's files.
const lock = "/run/vnfkit-kubeadm.lock"

// Await waits until no kubeadm runs on a machine.
func Await(ctx context.Context, n mgmt.Node) error {
	return n.Root().Run(ctx, "flock", lock, "true")
}

// Reset stops what kubeadm has started on a machine, and removes its files.
func Reset(ctx context.Context, n mgmt.Node) error {
	return n.Root().Run(ctx, "flock", lock, "sh", "-c", reset)
}

// resetting is a file that is on a machine during a reset.
const resetting = "/etc/kubernetes/vnfkit-resetting"

// reset is the script of Reset. kubeadm deletes the data of etcd before it ends the kubelet and etcd. The kubelet can start etcd
// again meanwhile, which leaves data, so that the machine could not join.
const reset = "touch " + resetting + " && kubeadm reset --force && rm -rf /var/lib/etcd/member && rm " + resetting

// leftovers succeeds on a machine that is, or was, a node: it looks for files of kubeadm, and of a reset that was cut short.
const leftovers sshexec.Shell = "test -e /etc/kubernetes/kubelet.conf || test -e /etc/kubernetes/pki/ca.crt || test -e /etc/kubernetes/manifests/kube-apiserver.yaml" +
	" || test -e " + resetting

// IsUsed reports whether kubeadm has made a machine a node before.
func IsUsed(ctx context.Context, n mgmt.Node) (bool, error) {
	err := n.Root().Exec(ctx, sshexec.Command{Shell: leftovers})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 1 {
		return false, nil
	}
	return err == nil, err
}

// Describe reads the CA of the cluster on a control-plane node, and returns the data with which nodes join at endpoint.
func Describe(ctx context.Context, n mgmt.Node, endpoint string) (Bootstrap, error) {
	ca, err := n.Root().ReadFile(ctx, "/etc/kubernetes/pki/ca.crt")
	if err != nil {
		return Bootstrap{}, err
	}
	hash, err := CAHash(ca)
	return Bootstrap{Endpoint: endpoint, CAHash: hash}, err
}

// CAHash returns the hash of a CA certificate in the form of kubeadm: over the public key info.
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

// initTokenTTL bounds the life of the token of kubeadm init in case the driver cannot revoke it.
const initTokenTTL = time.Minute
