package kubesim

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/balancer"
	"github.com/vnfkit/vnfkit/internal/kubesim/docker"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// World is all machines and clusters. It is safe for concurrent use.
type World struct {
	mu           sync.Mutex
	state        state
	files        map[string]func() afero.Fs // of each machine, as root sees them
	changed      func()
	takes        time.Duration
	nowFunc      func() time.Time
	packageLocks map[string]chan struct{} // by machine
	packages     map[string]Package       // of the Options
	services     []string                 // of the Options
	registries   []Registry
	publicImages []string
	missing      []string   // packages, and images of public registries
	offline      bool       // of the Options
	making       sync.Mutex // directories of registries
	passwords    sync.Map   // those that were right, hashed with what they were compared to
	contents     sync.Map   // of registries, by the id of the container
	observed     func(machine, method, path string)
	certificates map[string]tls.Certificate // of API servers, by machine, cluster and node name
	ends         map[string]time.Time       // ends of certificates, by the text of their file
	led          map[led]int                // connections that haproxy leads, under the lock
}

type state struct {
	Machines map[string]*machine `json:"machines"`
	Clusters map[string]*cluster `json:"clusters"`
	Volumes  map[string]*volume  `json:"volumes,omitempty"`
	Twice    []string            `json:"twice,omitempty"` // pods of StatefulSets that have run twice at the same time
}

// Options of a World.
type Options struct {
	Changed func()           // called after every change, under no lock
	Takes   time.Duration    // how long init, join and package installation take; default no time
	Now     func() time.Time // the clock of tokens and keys; default time.Now

	Registries   []Registry // private registries that machines reach
	PublicImages []string   // what Docker's public registry has, such as "registry:latest"; none: it cannot be reached
	Missing      []string   // packages that no source offers, and images that public registries lack
	Offline      bool       // machines reach no public registry, and no package source that their image has

	Packages map[string]Package // packages that the sources offer beside those of versions
	Services []string           // units that every machine has without a package
}

// NewWorld returns an empty World.
func NewWorld(o Options) *World {
	w := &World{files: map[string]func() afero.Fs{}, changed: o.Changed, takes: o.Takes, nowFunc: o.Now, packageLocks: map[string]chan struct{}{}, certificates: map[string]tls.Certificate{}, ends: map[string]time.Time{}, led: map[led]int{}, registries: o.Registries, publicImages: o.PublicImages, missing: o.Missing, offline: o.Offline, packages: o.Packages, services: o.Services,
		state: state{Machines: map[string]*machine{}, Clusters: map[string]*cluster{}}}
	if w.changed == nil {
		w.changed = func() {}
	}
	if w.nowFunc == nil {
		w.nowFunc = time.Now
	}
	return w
}

// MarshalJSON implements json.Marshaler: what Restore takes.
func (w *World) MarshalJSON() ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return json.Marshal(w.state)
}

// UnmarshalJSON implements json.Unmarshaler. The machines must be attached again with Attach; call Retain first.
func (w *World) UnmarshalJSON(data []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := json.Unmarshal(data, &w.state); err != nil {
		return err
	}
	for _, c := range w.state.Clusters {
		c.Restore(site{w, c})
	}
	return nil
}

// machine is a VM as the simulation sees it.
type machine struct {
	ID          string            `json:"id"`
	Address     netip.Addr        `json:"address"`
	Others      []netip.Addr      `json:"others,omitempty"` // in other networks
	Hostname    string            `json:"hostname"`
	Down        bool              `json:"down,omitempty"`  // it does not answer: it is off, or cut off from the network
	Off         bool              `json:"off,omitempty"`   // it is off
	Blind       bool              `json:"blind,omitempty"` // its kubelet runs since before etcd was restored, and misses changes
	Pods        map[string]string `json:"pods,omitempty"`  // of StatefulSets that run on it: uids by namespace/name
	SwapOff     bool              `json:"swapOff,omitempty"`
	Forward     bool              `json:"forward,omitempty"` // net.ipv4.ip_forward
	Packages    map[string]string `json:"packages"`
	Fetched     bool              `json:"fetched,omitempty"`     // apt-get update has run
	Interrupted bool              `json:"interrupted,omitempty"` // an installation was cut short
	Services    map[string]bool   `json:"services"`
	Insecure    []string          `json:"insecure,omitempty"` // what Docker has read of insecure-registries
	Docker      docker.Engine     `json:"docker,omitzero"`
	Haproxy     haproxyState      `json:"haproxy,omitzero"`
	Taken       []int             `json:"taken,omitempty"` // ports at which some foreign program listens
	Cluster     string            `json:"cluster,omitempty"`
	Node        string            `json:"node,omitempty"`
	Kubelet     string            `json:"kubelet,omitempty"` // version of the kubelet that runs
	// KubeletWas is the version before, until a client has read a static pod that the kubelet has not started again.
	KubeletWas string            `json:"kubeletWas,omitempty"`
	Mounts     map[string]string `json:"mounts,omitempty"`  // volumes by where they are mounted
	Images     []string          `json:"images,omitempty"`  // names of images that containerd has pulled
	Exports    []string          `json:"exports,omitempty"` // what NFS exports, and to whom
}

func (m *machine) runs(service string) bool { return !m.Down && m.Services[service] }

// Attach adds a machine, or gives a restored one its files again (called when they are needed: the host is
// made after its programs), and returns the programs it has.
func (w *World) Attach(id string, address netip.Addr, hostname string, files func() afero.Fs) map[string]sshtest.Command {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.state.Machines[id] == nil {
		w.state.Machines[id] = &machine{ID: id, Address: address, Hostname: hostname,
			Packages: map[string]string{}, Services: map[string]bool{}}
	}
	w.files[id] = files
	return w.commands(id)
}

// Join gives a machine its addresses in other networks.
func (w *World) Join(id string, others ...netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.state.Machines[id].Others = others
}

// Remove removes a machine from the world, as deleting a VM does: its programs end.
func (w *World) Remove(id string) {
	w.change(func() {
		w.detach(id)
		delete(w.state.Machines, id)
		delete(w.files, id)
	})
}

// SetDown stops or starts a machine without removing it.
func (w *World) SetDown(id string, down bool) {
	w.change(func() {
		if m := w.state.Machines[id]; m != nil {
			m.Down, m.Off, m.Blind, m.Pods = down, down, false, nil
			w.daemonChanged(m)
		}
	})
}

// Retain removes the machines of a restored World that are not in ids. A World that is saved while a machine is made or removed
// may contain it, although it does not exist.
func (w *World) Retain(ids []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, id := range w.ids() {
		if !slices.Contains(ids, id) {
			w.detach(id)
			delete(w.state.Machines, id)
		}
	}
}

// Partition cuts a machine off from the network. Its pods run on.
func (w *World) Partition(id string) {
	w.change(func() {
		if m := w.state.Machines[id]; m != nil {
			m.Down = true
		}
	})
}

// change runs fn under the lock and reports the change.
func (w *World) change(fn func()) {
	w.locked(fn)
	w.changed()
}

// locked runs fn under the lock, and unlocks also if fn panics: the server of a simulated API recovers.
func (w *World) locked(fn func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fn()
}

// OnRequest has fn called before the API server of a machine answers a request; nil ends it.
func (w *World) OnRequest(fn func(machine, method, path string)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.observed = fn
}

// take lets time pass, as slow programs do.
func (w *World) take(ctx context.Context) error { return program.Pause(ctx, w.takes) }

// byAddress finds the machine that answers at an address: its own, or a virtual one that it holds.
func (w *World) byAddress(addr netip.Addr) *machine {
	for _, id := range w.ids() {
		if m := w.state.Machines[id]; (m.Address == addr || slices.Contains(m.Others, addr)) && !m.Down {
			return m
		}
	}
	for _, id := range w.ids() {
		m := w.state.Machines[id]
		if !m.runs("keepalived") {
			continue // it may be a machine that is being made and has no files yet
		}
		conf, err := afero.ReadFile(w.files[id](), "/etc/keepalived/keepalived.conf")
		if err == nil && slices.Contains(balancer.VirtualAddresses(string(conf)), addr) {
			return m
		}
	}
	return nil
}

func (w *World) ids() []string {
	ids := make([]string, 0, len(w.state.Machines))
	for id := range w.state.Machines {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// Node is what the world knows of a node, for tests.
type Node struct {
	Name, Machine string
	Address       netip.Addr
	ControlPlane  bool
	Ready         bool
	Unschedulable bool
	Kubelet       string
	APIServer     string
}

// Nodes lists the nodes of every cluster whose API answers, by name.
func (w *World) Nodes() []Node {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Node
	for _, c := range w.state.Clusters {
		if !w.quorate(c) {
			continue
		}
		servers := w.apiServers(c)
		for _, n := range c.Nodes {
			out = append(out, Node{n.Name, n.Machine, n.Address, n.ControlPlane, w.ready(c, n), n.Unschedulable, w.kubeletVersion(n), servers[n.Name]})
		}
	}
	slices.SortFunc(out, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Tokens counts the bootstrap tokens that still let machines join.
func (w *World) Tokens() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.state.Clusters {
		for _, expires := range c.Tokens {
			if expires.After(w.nowFunc()) {
				n++
			}
		}
	}
	return n
}
