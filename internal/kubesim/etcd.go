package kubesim

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
)

// alive reports whether a member runs: as a static pod, with the kubelet of its machine.
func (w *World) alive(c *cluster, e etcd.Member) bool {
	m := w.state.Machines[e.Machine]
	return m != nil && m.runs("kubelet") && m.Cluster == c.ID && e.Name != ""
}

func (w *World) members(c *cluster) etcd.Running {
	return func(m etcd.Member) bool { return w.alive(c, m) }
}

// quorate reports whether etcd answers: without, the API answers nothing.
func (w *World) quorate(c *cluster) bool { return c.Etcd.Quorate(w.members(c)) }

// writeEtcdFiles writes the certificates of the member on this machine, and of its clients.
func (c *call) writeEtcdFiles(of *etcd.Cluster, name, address string) error {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	files, err := etcd.Files(of.CA, name, addr, c.w.nowFunc())
	if err != nil {
		return err
	}
	for name, content := range files {
		mode := os.FileMode(0o644)
		if strings.HasSuffix(name, ".key") {
			mode = 0o600
		}
		if err := c.Write(name, content, mode); err != nil {
			return err
		}
	}
	return nil
}

// enterEtcd adds the learner. etcd takes one at a time, so that kubeadm repeats it: here for a second and as long as ten slow
// programs take. A join that is cut short leaves its learner.
func (c *call) enterEtcd(ctx context.Context, o *kubeadmconf.JoinOptions) error {
	for end := time.Now().Add(time.Second + 10*c.w.takes); ; {
		err := c.addLearner(o)
		if !errors.Is(err, etcd.ErrTooMany) || time.Now().After(end) {
			return err
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

func (c *call) addLearner(o *kubeadmconf.JoinOptions) error {
	return c.on(func(m *machine) error {
		cl, err := c.w.reach(o.Endpoint)
		if err != nil {
			return err
		}
		return cl.Etcd.AddLearner(m.ID, m.Address, c.w.members(cl))
	})
}

// etcdData is where etcd keeps its data on the machine of a member. etcd makes it when the kubelet starts etcd.
const etcdData = "/var/lib/etcd/member"

func (c *call) writeEtcdData() error { return c.Write(etcdData, "member", 0o600) }

// dropEtcdData deletes the data, as kubeadm reset does before it ends the kubelet and etcd. If the cluster has removed the member
// before, etcd ends by itself; the kubelet starts it again during the reset, and it writes data again.
func (c *call) dropEtcdData() error {
	return c.on(func(m *machine) error {
		if !c.w.hasMember(m.ID) {
			return nil
		}
		return c.FS.RemoveAll(etcdData)
	})
}

// hasMember reports whether a machine has a member in an etcd.
func (w *World) hasMember(machine string) bool {
	for _, c := range w.state.Clusters {
		if c.Etcd.Of(machine) != nil {
			return true
		}
	}
	return false
}

// errNoMember is the end of a join whose member has been removed meanwhile.
var errNoMember = errors.New("error execution phase control-plane-join/etcd: failed to get member status: member not found")

// writeMemberFiles writes the certificates of the member that is to run on this machine.
func (c *call) writeMemberFiles(cl *cluster, name string) error {
	e := cl.Etcd.Of(c.id)
	if e == nil {
		return errNoMember
	}
	return c.writeEtcdFiles(&cl.Etcd, name, e.Address.String())
}

// leaveEtcd is the etcd part of kubeadm reset: it removes the member if it runs and the remaining members accept the
// change; then it deletes the data. The last member ends the cluster.
func (c *call) leaveEtcd(m *machine) {
	cl := c.w.state.Clusters[m.Cluster]
	if cl == nil {
		return // the machine belongs to no cluster
	}
	e := cl.Etcd.Of(m.ID)
	switch {
	case e == nil:
	case len(cl.Etcd.Members) == 1:
		delete(c.w.state.Clusters, cl.ID)
	default:
		_ = cl.Etcd.Remove(e.ID, c.w.members(cl)) // a warning only
	}
}

// Member describes an etcd member, for tests.
type Member struct {
	Name, Machine   string
	Address         netip.Addr
	Learner, Leader bool
	Alive           bool
}

// Members lists the etcd members of every cluster of which a machine is left.
func (w *World) Members() []Member {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Member
	for _, c := range w.state.Clusters {
		if !slices.ContainsFunc(c.Etcd.Members, func(e etcd.Member) bool { return w.state.Machines[e.Machine] != nil }) {
			continue
		}
		for _, e := range c.Etcd.Members {
			out = append(out, Member{e.Name, e.Machine, e.Address, e.Learner, c.Etcd.Elect(w.members(c)) == e.ID, w.alive(c, e)})
		}
	}
	return out
}
