package kubeadm

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// writeEtcdFiles writes the certificates of the member on this machine, and of its clients.
func (c *call) writeEtcdFiles(cl *Cluster, name, address string) error {
	addr, err := netip.ParseAddr(address)
	if err != nil {
		return err
	}
	files, err := etcd.Files(cl.Etcd.CA, name, addr, c.w.Now(), c.w.Now().Add(cl.validity()))
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
// programs take, on a machine that is not busy. The attempts are counted, because on a busy one the other join takes longer, too. A
// join that is cut short leaves its learner.
func (c *call) enterEtcd(ctx context.Context, o *kubeadmconf.JoinOptions) error {
	const pause = 10 * time.Millisecond
	for left := (time.Second + 10*c.w.Takes()) / pause; ; left-- {
		err := c.addLearner(o)
		if !errors.Is(err, etcd.ErrTooMany) || left <= 0 {
			return err
		}
		if err := program.Pause(ctx, pause); err != nil {
			return err
		}
	}
}

func (c *call) addLearner(o *kubeadmconf.JoinOptions) error {
	return c.w.On(func(m Machine) error {
		cl, err := c.w.Reach(o.Endpoint)
		if err != nil {
			return err
		}
		return cl.Etcd.AddLearner(m.ID, m.Address, c.w.Running(cl))
	})
}

// EtcdData is the data directory of etcd on the machine of a member.
const EtcdData = "/var/lib/etcd"

// etcdData is where etcd keeps its data. etcd makes it when the kubelet starts etcd.
const etcdData = EtcdData + "/member"

func (c *call) writeEtcdData(cl *Cluster) error {
	return errors.Join(c.Write(etcd.Database(EtcdData), "member", 0o600), etcd.WriteToken(c.Call, EtcdData, cl.Etcd.Token))
}

// dropEtcdData deletes the data, as kubeadm reset does before it ends the kubelet and etcd. If the cluster has removed the member
// before, etcd ends by itself; the kubelet starts it again during the reset, and it writes data again.
func (c *call) dropEtcdData() error {
	return c.w.On(func(m Machine) error {
		if !c.w.HasMember() {
			return nil
		}
		return c.FS.RemoveAll(etcdData)
	})
}

// errNoMember is the end of a join whose member has been removed meanwhile.
var errNoMember = errors.New("error execution phase control-plane-join/etcd: failed to get member status: member not found")

// writeMemberFiles writes the certificates of the member that is to run on this machine.
func (c *call) writeMemberFiles(cl *Cluster, name string) error {
	e := cl.Etcd.Of(c.w.ID())
	if e == nil {
		return errNoMember
	}
	return c.writeEtcdFiles(cl, name, e.Address.String())
}

// leaveEtcd is the etcd part of kubeadm reset: it removes the member if it runs and the remaining members accept the
// change; then it deletes the data. The last member ends the cluster.
func (c *call) leaveEtcd(m Machine) {
	cl := c.w.Cluster()
	if cl == nil {
		return // the machine belongs to no cluster
	}
	e := cl.Etcd.Of(m.ID)
	switch {
	case e == nil:
	case len(cl.Etcd.Members) == 1:
		c.w.Forget(cl)
	default:
		_ = cl.Etcd.Remove(e.ID, c.w.Running(cl)) // a warning only
	}
}
