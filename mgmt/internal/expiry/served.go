package expiry

import (
	"cmp"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vimentry"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

// Ports of the servers on a control-plane node (kubeadm, constants.KubeAPIServerPort and EtcdListenClientPort; kubespray has the same).
const (
	apiPort  = 6443
	etcdPort = 2379
)

// limit bounds how long the certificate of one server may take to read, with the login to the jump host.
const limit = 10 * time.Second

// Cluster is a cluster whose servers show their certificates.
type Cluster struct {
	Op       *vnflcm.Operation
	Pool     *sshexec.Pool   // connects to the servers
	Allow    outbound.Policy // judges the addresses of the servers, beside the pool
	Parallel int             // how many servers are asked at once

	ControlPlane []mgmt.Node
	CP, NIC      string // connection points of the control-plane nodes: for SSH, and with the address for other nodes; default of NIC: CP
	Endpoint     string // host of the API outside of the VNF, a name or an address; empty: the API is at an address of the VNF
	Names        Names
	EtcdFile     func(mgmt.Node) string // name of the certificate of etcd on a node
}

// Names are the names of certificates that all nodes have.
type Names struct{ APIServer, CA string }

// server is a TLS server.
type server struct {
	vnflcm.Certificate
	what      string // for errors
	addr      string // host:port
	authority string // PEM; empty: it is not known
	optional  bool   // a server that is not there is no error

	answered bool // the certificate was read
}

// Served returns the certificates that API servers and etcd show in TLS handshakes, and the authority in the VIM entry of the cluster. The
// error names the servers whose certificates cannot be read. If that is the API server of a node, the certificate at the address of the
// entry is returned, too. A client can replace the entry of the instance, so the address must belong to the cluster.
//
// A certificate of an authority other than the one in the entry is an error; for etcd it is the one that KeepEtcdCA has stored. Where no
// authority is known, as before the first operation on an adopted VNF, the certificate is believed.
func (c Cluster) Served(ctx context.Context) ([]vnflcm.Certificate, error) {
	via, _, err := jumphost.Target(c.Op.VIM, hostkeys.Of(c.Op))
	if err != nil {
		return nil, err
	}
	entry, fault := c.entry()
	servers, err := c.servers(ctx, entry)
	if err != nil {
		return nil, err
	}
	err = errors.Join(fault, c.ask(ctx, via, servers))
	if entry.addr != "" && slices.ContainsFunc(servers, func(s *server) bool { return !s.optional && !s.answered }) {
		api := entry.server(c.Names.APIServer)
		servers = append(servers, api)
		if c.owns(entry.addr) {
			fault = c.ask(ctx, via, []*server{api})
		} else {
			fault = fmt.Errorf("the API at %s is not asked: accessInfo.auth_url of the cluster's VIM entry is not an address of the cluster", entry.addr)
		}
		err = errors.Join(err, fault)
	}
	var out []vnflcm.Certificate
	for _, s := range servers {
		if s.answered {
			out = append(out, s.Certificate)
		}
	}
	if ca := parse([]byte(entry.ca)); ca != nil {
		out = append(out, described(vnflcm.Certificate{Machine: entry.addr, Name: c.Names.CA}, ca))
	}
	return out, err
}

// servers returns the servers on the control-plane nodes. etcd is asked at the address for other nodes, since it listens at no other.
func (c Cluster) servers(ctx context.Context, e entry) (out []*server, err error) {
	var etcdCA string
	if err := c.Op.State().Get(ctx, etcdCAKey, &etcdCA); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
		return nil, err
	}
	for _, n := range c.ControlPlane {
		of := func(name string) vnflcm.Certificate {
			return vnflcm.Certificate{On: n.ID, Machine: n.Label(), Name: name}
		}
		out = append(out,
			&server{Certificate: of(c.Names.APIServer), what: "the API server of " + n.Name, addr: at(n, c.CP, apiPort), authority: e.ca},
			&server{Certificate: of(c.EtcdFile(n)), what: "etcd of " + n.Name, addr: at(n, cmp.Or(c.NIC, c.CP), etcdPort), authority: etcdCA, optional: true})
	}
	return out, nil
}

// at returns the address of a node at a connection point, as the VNFM reaches it.
func at(n mgmt.Node, cp string, port uint16) string {
	point, _ := n.CP(cp)
	return netip.AddrPortFrom(point.Address(), port).String()
}

// ask asks all servers for their certificates.
func (c Cluster) ask(ctx context.Context, via *sshexec.Target, servers []*server) error {
	return vnflcm.Each(ctx, c.Parallel, servers, func(ctx context.Context, s *server) error {
		return mgmt.Within(ctx, limit, func(ctx context.Context) error { return c.fill(ctx, via, s) })
	})
}

// fill asks a server for its certificate.
func (c Cluster) fill(ctx context.Context, via *sshexec.Target, s *server) error {
	host, conn, err := c.dial(ctx, via, s.addr)
	if s.optional && refused(err) {
		return nil // etcd is elsewhere
	}
	var shown chain
	if err == nil {
		defer func() { _ = conn.Close() }()
		shown, err = shake(ctx, conn, host)
	}
	if err == nil && s.authority != "" {
		roots := x509.NewCertPool()
		roots.AppendCertsFromPEM([]byte(s.authority))
		err = shown.verify(roots)
	}
	if err != nil {
		return fmt.Errorf("the certificate of %s at %s cannot be read: %w", s.what, s.addr, err)
	}
	s.Certificate, s.answered = described(s.Certificate, shown[0]), true
	return nil
}

// dial connects to host:port if the policy allows it. Without a jump host it judges the addresses that a name has, as outbound.Policy does:
// the pool may connect with a dialer that judges none.
func (c Cluster) dial(ctx context.Context, via *sshexec.Target, addr string) (host string, conn net.Conn, err error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return "", nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err == nil {
		err = c.Allow.CheckHost(host, uint16(port))
	}
	switch {
	case err != nil:
	case via != nil:
		conn, err = c.Pool.DialContext(ctx, via, addr)
	default:
		conn, err = c.dialResolved(ctx, host, uint16(port))
	}
	return host, conn, err
}

// dialResolved connects to the first address of a host that the policy allows and that answers.
func (c Cluster) dialResolved(ctx context.Context, host string, port uint16) (net.Conn, error) {
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	faults := []error{err}
	for _, address := range found {
		to := netip.AddrPortFrom(address.Unmap(), port)
		if err := c.Allow.Check(to); err != nil {
			faults = append(faults, err)
			continue
		}
		conn, err := c.Pool.DialContext(ctx, nil, to.String())
		if err == nil {
			return conn, nil
		}
		faults = append(faults, err)
	}
	return nil, errors.Join(faults...)
}

// refused reports whether a machine has answered that nothing listens at a port. OpenSSH tells the error of its connection as text.
func refused(err error) bool {
	channel, behindJumpHost := errors.AsType[*ssh.OpenChannelError](err)
	return errors.Is(err, syscall.ECONNREFUSED) || behindJumpHost && strings.HasSuffix(strings.ToLower(channel.Message), "connection refused")
}

// entry is the part of the cluster's entry in the VIM registry that says who answers where. It is empty for a cluster that no operation
// has registered.
type entry struct{ addr, ca string }

func (e entry) server(name string) *server {
	return &server{Certificate: vnflcm.Certificate{Machine: e.addr, Name: name}, what: "the API", addr: e.addr, authority: e.ca}
}

// entry reads the entry as the instance has it. With an error, the entry has no address.
func (c Cluster) entry() (entry, error) {
	for _, vim := range c.Op.Instance().VimConnectionInfo {
		if vim.VimID != vimentry.VIMID(c.Op.InstanceID) {
			continue
		}
		var access struct {
			URL string `json:"auth_url"`
			CA  string `json:"ssl_ca_cert"`
		}
		if _, err := vim.AccessInfo.Decode(&access); err != nil || access.URL == "" {
			return entry{ca: access.CA}, err
		}
		u, err := url.Parse(access.URL)
		if err != nil || u.Hostname() == "" { // err quotes the URL
			return entry{ca: access.CA}, errors.New("accessInfo.auth_url of the cluster's VIM entry is not a URL with a host")
		}
		return entry{net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "443")), access.CA}, nil
	}
	return entry{}, nil
}

// owns reports whether the host of addr, host:port, is Endpoint or an address of a connection point of the VNF.
func (c Cluster) owns(addr string) bool {
	host, _, _ := net.SplitHostPort(addr) // made by entry
	if host == c.Endpoint {
		return true
	}
	points := slices.Clone(c.Op.ConnectionPoints)
	for _, vnfc := range c.Op.VNFCs {
		points = append(points, vnfc.CPs...)
	}
	address, err := netip.ParseAddr(host)
	return err == nil && slices.ContainsFunc(points, func(p vnflcm.ConnectionPoint) bool {
		return p.Floating == address || slices.Contains(p.Fixed, address)
	})
}
