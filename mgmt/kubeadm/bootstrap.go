package kubeadm

import (
	"bytes"
	"cmp"
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
	"strconv"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/cluster"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// bootstrap is what later steps must know of the new control plane. It is journaled: no secret in it.
type bootstrap struct {
	Endpoint string // host:port of the API, as nodes are told
	CAHash   string // sha256:..., which joining nodes pin
	Version  string `json:",omitempty"` // of Kubernetes, of a cluster that exists
}

// apiAddress is where nodes and other clients reach the API.
type apiAddress struct {
	host     string     // an address, or the name of a load balancer outside
	port     string     // empty: what endpoint says
	floating netip.Addr // by which host is reached from outside, if there is one
	virtual  bool       // no machine has it by itself
}

// String is the host.
func (a apiAddress) String() string { return a.host }

// findEndpoint finds where the API is reached: at the load balancer of the VNF, at api_endpoint, or at the address of
// cluster_cp_name, which is a virtual address of the VNF or one of the first control-plane node. That is known only
// now: a template may make connection points that the VNFD does not show.
func (d *deployment) findEndpoint() error {
	if d.p.Balancer != nil {
		d.api = d.balancerAddress()
		return nil
	}
	var faults []error
	candidates := slices.Concat(d.op.ConnectionPoints, d.masters[0].CPs)
	if name := d.p.Master.ClusterCPName; d.p.APIEndpoint == "" {
		i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == name && len(cp.Fixed) > 0 })
		if i < 0 {
			faults = append(faults, &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_cp_name", Value: name,
				Reason: "neither the VNF nor its first control-plane node has an address at such a connection point"})
		} else {
			addr := candidates[i].Fixed[0]
			d.api = apiAddress{host: addr.String(), floating: candidates[i].Floating, virtual: !d.hasAddress(addr)}
		}
	} else {
		d.api.host, d.api.port, _ = splitEndpoint(d.p.APIEndpoint) // checked
	}
	if name := d.p.Master.ClusterFIPName; name != "" {
		i := slices.IndexFunc(candidates, func(cp vnflcm.ConnectionPoint) bool { return cp.CPD == name && cp.Floating.IsValid() })
		switch {
		case i >= 0:
			d.api.floating = candidates[i].Floating
		case !d.api.floating.IsValid(): // a template may name the floating address otherwise than its port
			faults = append(faults, &vnflcm.ParamError{Path: clusterPath + ".master_node.cluster_fip_name", Value: name,
				Reason: "neither it nor cluster_cp_name is a connection point with a floating address"})
		}
	}
	return errors.Join(faults...)
}

// hasAddress reports whether a control-plane node has the address.
func (d *deployment) hasAddress(addr netip.Addr) bool {
	return slices.ContainsFunc(d.masters, func(m mgmt.Node) bool {
		return slices.ContainsFunc(m.CPs, func(cp vnflcm.ConnectionPoint) bool { return slices.Contains(cp.Fixed, addr) })
	})
}

// endpoint has the port of the API server itself, of the load balancer outside or, where haproxy stands before
// the API servers (ours, or that of the package's script for several of them), haproxy's, which Tacker's
// scripts have at 16443.
func (d *deployment) endpoint() string {
	port := cmp.Or(d.api.port, apiPort)
	if d.balanced() || d.p.ScriptPath != "" && len(d.masters) > 1 {
		port = strconv.Itoa(balancedPort)
	}
	return net.JoinHostPort(d.api.host, port)
}

// The ports of API servers and of haproxy before them.
const (
	apiPort      = "6443"
	balancedPort = 16443
)

// init makes the control plane on the first node.
func (d *deployment) init(ctx context.Context) (bootstrap, error) {
	first := d.masters[0]
	b, err := vnflcm.Run(ctx, d.op, vnflcm.Step[bootstrap]{
		Name: "init", On: first.ID,
		Probe: func(ctx context.Context) (bootstrap, bool, error) { return d.initialised(ctx, first) },
		Do: func(ctx context.Context) (b bootstrap, err error) {
			err = mgmt.Within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
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
	return mgmt.Within(ctx, d.config.Timeouts.Install, func(ctx context.Context) error {
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
	kube := cluster.New([]mgmt.Node{n})
	defer kube.Close()
	done, err := kube.Exists(ctx, "kube-system", "daemonset", "kube-proxy")
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
	documents := append([]any{d.initConfiguration(n), d.clusterConfiguration()}, d.p.componentDocuments()...)
	config, err := marshal(documents...)
	if err != nil {
		return err
	}
	return d.kubeadmWith(ctx, n, config, "init")
}

// kubeadmWith gives kubeadm its configuration on standard input, so that no file with a token stays on the
// machine. sshd's standard input is a socket, which /dev/stdin cannot open: hence the pipe.
func (d *deployment) kubeadmWith(ctx context.Context, n mgmt.Node, config []byte, verb ...string) error {
	argv := slices.Concat([]string{"sh", "-c", `cat | "$@"`, "sh", "flock", kubeadmLock, "kubeadm"}, verb, []string{"--config", "/dev/stdin"})
	return masked(n.RunRoot(ctx, argv, bytes.NewReader(config), nil, nil))
}

// revokeAll deletes every bootstrap token of a cluster that has just been made: kubeadm init insists on one,
// and a package's script prints one. Joins use fresh ones.
func (d *deployment) revokeAll(ctx context.Context, n mgmt.Node) error {
	return d.revokeListed(ctx, n, func(string) bool { return true })
}

// revokeListed deletes the bootstrap tokens whose description is as wanted, asking kubeadm on a node which there are.
func (d *deployment) revokeListed(ctx context.Context, n mgmt.Node, wanted func(description string) bool) error {
	var out bytes.Buffer
	if err := n.RunRoot(ctx, []string{"kubeadm", "token", "list", "-o", "json"}, nil, &out, nil); err != nil {
		return err
	}
	for list := json.NewDecoder(&out); ; {
		var token struct {
			Token       string `json:"token"`
			Description string `json:"description"`
		}
		if err := list.Decode(&token); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("kubeadm token list: %w", err)
		}
		if !wanted(token.Description) {
			continue
		}
		id, _, _ := strings.Cut(token.Token, ".")
		if err := d.revoke(ctx, id); err != nil {
			return err
		}
	}
}

// certSANs are the names and addresses that clients of the API may use: the certificate holds for all of them,
// so that TLS can always be verified. The endpoint's comes first.
func (d *deployment) certSANs() []string {
	var sans []string
	add := func(addr netip.Addr) {
		if addr.IsValid() {
			sans = append(sans, addr.String())
		}
	}
	add(d.api.floating)
	sans = append(sans, vnfbalancer.Names(d.balancers)...)
	for _, m := range d.masters {
		sans = append(sans, m.HostName)
		for _, cp := range m.CPs {
			add(cp.Floating)
			for _, addr := range cp.Fixed {
				add(addr)
			}
		}
	}
	slices.Sort(sans)
	sans = slices.DeleteFunc(slices.Compact(sans), func(name string) bool { return name == d.api.host })
	return slices.Insert(sans, 0, d.api.host)
}

// initTokenTTL is how long the token of init lives if nobody comes to revoke it.
const initTokenTTL = time.Minute
