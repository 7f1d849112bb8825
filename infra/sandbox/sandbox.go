package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim"
	"github.com/vnfkit/vnfkit/internal/memconn"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Config of a World.
type Config struct {
	// Dir keeps the world on disk; only one World at a time can have it. Default: in memory.
	Dir string
	// User and Password log in to every machine. Default "ubuntu" and "ubuntu".
	User, Password string
	// Users are the users who log in to machines of some packages, by VNFD, as images differ in it. Default: User.
	Users map[string]string
	// AuthorizedKeys are authorized_keys lines that may log in to every machine too.
	AuthorizedKeys []string
	// SudoPassword is the password that sudo asks for on every machine. Default: sudo needs no password.
	SudoPassword string
	// Boot is how long a machine refuses connections after it was made. Default: not at all.
	Boot time.Duration
	// Takes is how long the slow programs take: package installation, kubeadm init and join. Default: no time.
	Takes time.Duration
	// Commands are programs that every machine has beside the built-in ones, by name.
	Commands map[string]sshtest.Command
	// Packages are what "apt-get install" finds beside the packages of Kubernetes and its runtimes, by name:
	// {"nginx": {Services: []string{"nginx"}}}. A package is installed completely or not at all, and has no behaviour
	// beyond its units, files and programs.
	Packages map[string]Package
	// Services are units of systemd that every machine has from the beginning, stopped, such as "ntp".
	Services []string
	// Virtual names connection points of the VNF as a whole, such as "vip_CP": each instance gets an address
	// for each, which no machine has by itself; the one on which keepalived runs with it answers there.
	Virtual []string
	// Floating names connection points that machines have in addition to those of the VNFD. Each maps to the connection
	// point of the VNFD, or of Virtual, to which it gives a floating address: {"workerNode_FloatingIP":
	// "workerNode_CP1"}. infra/openstack reports an OS::Neutron::FloatingIP in this way.
	Floating map[string]string
	// Unexpected is called for programs that do not exist.
	Unexpected func(host string, argv []string)
	// Now is the clock that join tokens expire by. Default time.Now.
	Now func() time.Time
	// Registries are private container registries that every machine reaches, beside those that machines run.
	Registries []Registry
	// PublicImages are what Docker finds in the public registry, such as "registry:latest". Default: the public
	// registry cannot be reached.
	PublicImages []string
	// Missing are packages that no source of packages offers, such as "docker.io", and images that public registries do not have, such as
	// "registry.k8s.io/kube-proxy:v1.36.3".
	Missing []string
	// Offline cuts the machines off from public registries, and from the package sources that their image has. Default: they reach both.
	Offline bool
	// Rebuild lets a machine whose image a change of the package changes keep its resource id, as Nova's rebuild does: its disk and its host
	// key are new. Default: another machine replaces it.
	Rebuild bool
	// Ansible are the Ansible servers that there are beside the machines.
	Ansible []AnsibleServer
}

// World holds the machines. It implements vnflcm.InfraDriver and is safe for concurrent use.
type World struct {
	config Config
	kube   *kubesim.World
	lock   *flock.Flock

	mu       sync.Mutex
	machines map[string]*machine // by resource id
	reserved map[netip.Addr]bool // for machines that are being made
	virtual  map[string][]port   // by instance: the addresses of Config.Virtual
	servers  []*ansibleHost
	serial   int
	closed   bool

	saving sync.Mutex
}

// machine is one VM. The exported fields are stored.
type machine struct {
	ID       string // resource id
	VNFC     string // id of the VNFC, kept when it is healed
	Instance string
	VDU      string
	Name     string
	CPs      []port
	Floating []port   `json:",omitempty"` // with the names of Config.Floating
	Volumes  []volume `json:",omitempty"`
	HostKey  []byte
	Serial   int // in the order of creation
	Stopped  bool
	VNFD     string `json:",omitempty"` // the package that made or last changed it; "" before packages could be changed

	host    *sshtest.Host
	booting bool // it refuses connections for Config.Boot
	made    bool // it has all that its image has; until then it is in no stored world
}

type port struct {
	CPD     string
	Address netip.Addr
	Of      string `json:",omitempty"` // for a floating address: the connection point that has it
}

// ports returns all addresses of a machine; the first is the one that other machines use.
func (m *machine) ports() []port { return slices.Concat(m.CPs, m.Floating) }

// Open returns the world that is in c.Dir, or an empty one. Close it.
func Open(c Config) (*World, error) {
	if c.User == "" {
		c.User = "ubuntu"
	}
	if c.Password == "" {
		c.Password = "ubuntu"
	}
	w := &World{config: c, machines: map[string]*machine{}, reserved: map[netip.Addr]bool{}, virtual: map[string][]port{}}
	w.kube = kubesim.NewWorld(c.simulation(w.saveQuietly))
	if c.Dir == "" {
		if err := w.startServers(nil); err != nil {
			return nil, errors.Join(err, w.Close())
		}
		return w, nil
	}
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, err
	}
	w.lock = flock.New(filepath.Join(c.Dir, "lock"))
	if mine, err := w.lock.TryLock(); err != nil || !mine {
		return nil, errors.Join(fmt.Errorf("sandbox: %s is in use by another process", c.Dir), err)
	}
	if err := w.restore(); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

// Close stops the machines. Those on disk can be opened again.
func (w *World) Close() error {
	w.mu.Lock()
	w.closed = true
	machines, servers := w.sorted(), w.servers
	w.mu.Unlock()
	var errs []error
	for _, s := range servers {
		errs = append(errs, s.host.Close())
	}
	for _, m := range machines {
		if m.host != nil {
			errs = append(errs, m.host.Close())
		}
	}
	if w.lock != nil {
		errs = append(errs, w.lock.Unlock())
	}
	return errors.Join(errs...)
}

// Dial connects to a machine by its address, as net.Dialer would in the network of the machines: to its sshd, or to a
// server of a simulated cluster there, such as the Kubernetes API. Use it in sshexec.Options.
func (w *World) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	host, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if service != "22" {
		return w.kube.Dialer("")(ctx, network, net.JoinHostPort(w.fixed(host), service))
	}
	m := w.at(host)
	if m == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: fmt.Errorf("%s: no route to host", addr)}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	near, far := memconn.Pair(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.ParseIP(host), Port: 22})
	m.Serve(far)
	return near, nil
}

// fixed returns the address to which a floating address of Config.Virtual leads, and any other address unchanged.
func (w *World) fixed(address string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, ports := range w.virtual {
		for _, f := range ports {
			for _, p := range ports {
				if f.Of == p.CPD && f.Address.String() == address {
					return p.Address.String()
				}
			}
		}
	}
	return address
}

// Host returns the SSH host of a machine, by its resource id or by its name, nil when there is none. Tests
// look at its files and at what ran there.
func (w *World) Host(idOrName string) *sshtest.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.sorted() {
		if m.ID == idOrName || m.Name == idOrName {
			return m.host
		}
	}
	return nil
}

// Hosts returns the SSH hosts of all machines, the oldest first.
func (w *World) Hosts() []*sshtest.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*sshtest.Host
	for _, m := range w.sorted() {
		if m.host != nil { // it is being made
			out = append(out, m.host)
		}
	}
	return out
}

// Stop makes a machine unreachable: connections end, new ones are refused, its programs no longer run. Only a heal
// restores the VNFC, or an OPERATE that starts the VNF.
func (w *World) Stop(idOrName string) error {
	return w.silence(idOrName, true, func(id string) { w.kube.SetDown(id, true) })
}

// Partition cuts a machine off from the network: connections end and new ones are refused, but its pods run on until
// the machine is stopped or removed.
func (w *World) Partition(idOrName string) error {
	return w.silence(idOrName, true, w.kube.Partition)
}

// silence ends the connections of a machine until it is called with false. do informs the simulated cluster.
func (w *World) silence(idOrName string, silent bool, do func(id string)) error {
	w.mu.Lock()
	var found *machine
	for _, m := range w.machines {
		if m.host != nil && (m.ID == idOrName || m.Name == idOrName) {
			found = m
			m.Stopped = silent
		}
	}
	w.mu.Unlock()
	if found == nil {
		return fmt.Errorf("sandbox: no machine %q", idOrName)
	}
	found.host.Refuse(silent)
	if silent {
		found.host.CutConnections()
	}
	do(found.ID)
	return w.save()
}

// Node is a node of a simulated cluster.
type Node struct {
	Name, Machine string // machine is the resource id
	Address       netip.Addr
	ControlPlane  bool
	Ready         bool
	Unschedulable bool
	Kubelet       string // version of the kubelet that runs
	APIServer     string // version of the API server, "" on a worker
}

// Nodes returns the nodes of every simulated cluster that answers, by name.
func (w *World) Nodes() []Node {
	var out []Node
	for _, n := range w.kube.Nodes() {
		out = append(out, Node(n))
	}
	return out
}

// PodsRunTwice returns the pods of StatefulSets of which two copies have run at the same time in a simulated cluster,
// such as "default/db-0 on workerNode-0 and on workerNode-1": two writers on one volume.
func (w *World) PodsRunTwice() []string { return w.kube.PodsRunTwice() }

// OnRequest has fn called before the API server of a machine answers a request of a client; nil ends it. It is to
// the Kubernetes API what sshtest.Host.OnCommand is to programs: tests interfere with what happens next.
func (w *World) OnRequest(fn func(resourceID, method, path string)) { w.kube.OnRequest(fn) }

// EtcdMember is a member of the etcd of a simulated cluster. It outlives its machine, as a real one does.
type EtcdMember struct {
	Name, Machine   string // the name is empty until it has started; machine is the resource id
	Address         netip.Addr
	Learner, Leader bool
	Alive           bool
	Version         string // of etcd
}

// EtcdMembers returns the etcd members of every simulated cluster of which a machine is left, in the order in which they were added.
func (w *World) EtcdMembers() []EtcdMember {
	var out []EtcdMember
	for _, m := range w.kube.Members() {
		out = append(out, EtcdMember(m))
	}
	return out
}

// JoinTokens is the number of bootstrap tokens with which a machine could join a simulated cluster now.
func (w *World) JoinTokens() int { return w.kube.Tokens() }

func (w *World) at(addr string) *sshtest.Host {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.machines {
		for _, cp := range m.ports() {
			if cp.Address.String() == addr {
				return m.host // nil while it is being made
			}
		}
	}
	for _, s := range w.servers {
		if s.Address.String() == addr {
			return s.host
		}
	}
	return nil
}

func (w *World) sorted() []*machine {
	out := make([]*machine, 0, len(w.machines))
	for _, m := range w.machines {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *machine) int { return a.Serial - b.Serial })
	return out
}

// start starts the SSH host of a machine.
func (w *World) start(m *machine) error {
	config := sshtest.Config{Name: m.Name, User: cmp.Or(w.config.Users[m.VNFD], w.config.User), Password: w.config.Password, HostKey: m.HostKey,
		AuthorizedKeys: w.config.AuthorizedKeys, SudoPassword: w.config.SudoPassword,
		Users: []string{"haproxy"}} // user of the haproxy package: here a package is installed completely or not at all
	if w.config.Dir != "" {
		config.Dir = filepath.Join(w.config.Dir, "hosts", m.ID)
		if err := os.MkdirAll(config.Dir, 0o700); err != nil {
			return err
		}
	}
	config.Commands = w.kube.Attach(m.ID, m.CPs[0].Address, m.Name, func() afero.Fs { return m.host.FS() })
	var others []netip.Addr
	for _, cp := range m.ports()[1:] {
		others = append(others, cp.Address)
	}
	w.kube.Join(m.ID, others...)
	config.Dial = w.kube.Dialer(m.ID)
	for name, command := range w.config.Commands {
		config.Commands[name] = command
	}
	if w.config.Unexpected != nil {
		config.Unexpected = func(argv []string) { w.config.Unexpected(m.Name, argv) }
	}
	host, err := sshtest.New(config)
	if err != nil {
		return err
	}
	host.Refuse(m.Stopped)
	w.mu.Lock()
	m.host, m.HostKey = host, host.HostKeyPEM()
	w.mu.Unlock()
	return nil
}
