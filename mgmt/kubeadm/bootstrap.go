package kubeadm

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// bootstrap is what later steps must know of the new control plane. It is journaled: no secret in it.
type bootstrap struct {
	Endpoint string // host:port of the API, as nodes are told
	CAHash   string // sha256:..., which joining nodes pin
}

// findEndpoint finds where the API is reached: the address of cluster_cp_name, which is a virtual address of the
// VNF or one of the first control-plane node. That is known only now: a template may make connection points
// that the VNFD does not show.
func (d *deployment) findEndpoint() error {
	name := d.p.Master.ClusterCPName
	for _, cp := range slices.Concat(d.op.ConnectionPoints, d.masters[0].CPs) {
		if cp.CPD == name && len(cp.Fixed) > 0 {
			d.api = cp.Fixed[0]
			return nil
		}
	}
	return &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_cp_name", Value: name,
		Reason: "neither the VNF nor its first control-plane node has an address at such a connection point"}
}

// endpoint has the port of the API server itself or, where the package's script puts haproxy before several
// of them, haproxy's (Tacker's contract).
func (d *deployment) endpoint() string {
	port := "6443"
	if d.p.ScriptPath != "" && len(d.masters) > 1 {
		port = "16443"
	}
	return net.JoinHostPort(d.api.String(), port)
}

// init makes the control plane on the first node.
func (d *deployment) init(ctx context.Context) (bootstrap, error) {
	first := d.masters[0]
	b, err := vnflcm.Run(ctx, d.op, vnflcm.Step[bootstrap]{
		Name: "init", On: first.ID,
		Probe: func(ctx context.Context) (bootstrap, bool, error) { return d.initialised(ctx, first) },
		Do: func(ctx context.Context) (b bootstrap, err error) {
			err = within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
				if err := d.clean(ctx, first); err != nil {
					return err
				}
				if d.p.ScriptPath != "" {
					err = d.scriptInit(ctx, first)
				} else {
					err = d.kubeadmInit(ctx, first)
				}
				if err != nil {
					return err
				}
				b, err = d.describe(ctx, first)
				return err
			})
			return b, err
		},
	})
	if err != nil {
		return b, err
	}
	return b, d.registriesAfterScript(ctx, first)
}

// kubeadmLock is held on a machine while kubeadm changes it: what a process has begun that died runs on there,
// and two at once would spoil each other's work.
const kubeadmLock = "/run/vnfkit-kubeadm.lock"

// settle waits until nothing runs on the machine any more that an earlier process has begun.
func (d *deployment) settle(ctx context.Context, n mgmt.Node) error {
	return within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
		if d.p.ScriptPath != "" {
			if err := n.SSH.Run(ctx, []string{"flock", scriptLock, "true"}, nil, nil, nil); err != nil {
				return err
			}
		}
		return n.RunRoot(ctx, []string{"flock", kubeadmLock, "true"}, nil, nil, nil)
	})
}

// initialised reports whether kubeadm init has run to its end on the node. kube-proxy is what it does last,
// so that anything less is a run that was cut short, on which no other node can have joined.
func (d *deployment) initialised(ctx context.Context, n mgmt.Node) (bootstrap, bool, error) {
	if err := d.settle(ctx, n); err != nil {
		return bootstrap{}, false, err
	}
	begun, err := succeeds(ctx, n, "test", "-e", "/etc/kubernetes/admin.conf")
	if !begun || err != nil {
		return bootstrap{}, false, err
	}
	if err := cluster.Ready(ctx, n); err != nil {
		if ctx.Err() != nil {
			return bootstrap{}, false, err
		}
		return bootstrap{}, false, nil
	}
	done, err := cluster.New([]mgmt.Node{n}).Exists(ctx, "kube-system", "daemonset", "kube-proxy")
	if !done || err != nil {
		return bootstrap{}, false, err
	}
	b, err := d.describe(ctx, n)
	return b, err == nil, err
}

func (d *deployment) describe(ctx context.Context, n mgmt.Node) (bootstrap, error) {
	ca, err := n.SSH.ReadFile(ctx, sshexec.File{Path: "/etc/kubernetes/pki/ca.crt", Root: true})
	if err != nil {
		return bootstrap{}, err
	}
	hash, err := caHash(ca)
	return bootstrap{Endpoint: d.endpoint(), CAHash: hash}, err
}

// caHash is the pin of a certificate authority as kubeadm takes it: over the public key info.
func caHash(data []byte) (string, error) {
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

// leftovers are the files by which kubeadm knows that a machine is, or was, a node.
const leftovers sshexec.Shell = "test -e /etc/kubernetes/kubelet.conf || test -e /etc/kubernetes/pki/ca.crt || test -e /etc/kubernetes/manifests/kube-apiserver.yaml"

// clean resets a machine on which an earlier attempt was cut short. It is called only before init and join,
// where there is nothing on the machine that could be lost.
func (d *deployment) clean(ctx context.Context, n mgmt.Node) error {
	err := n.SSH.Exec(ctx, sshexec.Command{Shell: leftovers, Root: true})
	if exit, ok := errors.AsType[*sshexec.ExitError](err); ok && exit.Code == 1 {
		return d.restoreRegistries(ctx, n)
	}
	if err != nil {
		return err
	}
	d.op.Report(ctx, "an earlier attempt was cut short: resetting the machine")
	if err := d.reset(ctx, n); err != nil {
		return err
	}
	return d.restoreRegistries(ctx, n)
}

func (d *deployment) reset(ctx context.Context, n mgmt.Node) error {
	return n.RunRoot(ctx, []string{"flock", kubeadmLock, "kubeadm", "reset", "--force"}, nil, nil, nil)
}

// kubeadmInit runs kubeadm init.
func (d *deployment) kubeadmInit(ctx context.Context, n mgmt.Node) error {
	config, err := marshal(d.initConfiguration(n), d.clusterConfiguration())
	if err != nil {
		return err
	}
	return d.kubeadmWith(ctx, n, config, "init")
}

// kubeadmWith gives kubeadm its configuration on standard input, so that no file with a token stays on the
// machine. sshd's standard input is a socket, which /dev/stdin cannot open: hence the pipe.
func (d *deployment) kubeadmWith(ctx context.Context, n mgmt.Node, config []byte, verb ...string) error {
	argv := slices.Concat([]string{"sh", "-c", `cat | "$@"`, "sh", "flock", kubeadmLock, "kubeadm"}, verb, []string{"--config", "/dev/stdin"})
	return n.RunRoot(ctx, argv, bytes.NewReader(config), nil, nil)
}

// revokeAll deletes every bootstrap token of a cluster that has just been made: kubeadm init insists on one,
// and a package's script prints one. Joins use fresh ones.
func (d *deployment) revokeAll(ctx context.Context, n mgmt.Node) error {
	var out bytes.Buffer
	if err := n.RunRoot(ctx, []string{"kubeadm", "token", "list", "-o", "json"}, nil, &out, nil); err != nil {
		return err
	}
	for list := json.NewDecoder(&out); ; {
		var token struct {
			Token string `json:"token"`
		}
		if err := list.Decode(&token); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("kubeadm token list: %w", err)
		}
		id, _, _ := strings.Cut(token.Token, ".")
		if err := d.revoke(ctx, id); err != nil {
			return err
		}
	}
}

// certSANs are the addresses that clients of the API may use.
func (d *deployment) certSANs() []string {
	sans := []string{d.api.String()}
	for _, m := range d.masters {
		for _, cp := range m.CPs {
			for _, addr := range append([]netip.Addr{cp.Floating}, cp.Fixed...) {
				if addr.IsValid() {
					sans = append(sans, addr.String())
				}
			}
		}
	}
	return sans
}

// initTokenTTL is how long the token of init lives if nobody comes to revoke it.
const initTokenTTL = time.Minute
