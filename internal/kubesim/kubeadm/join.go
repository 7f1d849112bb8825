package kubeadm

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadmconf"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// join makes the machine a node of the cluster at the endpoint.
func (c *call) join(ctx context.Context, args []string) error {
	o, err := kubeadmconf.ReadJoin(c.Call, args)
	if err != nil {
		return err
	}
	unwanted := []string{"/etc/kubernetes/kubelet.conf", "/etc/kubernetes/pki/ca.crt"}
	if o.ControlPlane {
		unwanted = append(unwanted, etcdData)
	}
	err = c.w.On(func(m Machine) error {
		if err := c.preflight(m, o.Ignore, unwanted...); err != nil {
			return err
		}
		if o.ControlPlane && o.Advertise != m.Address.String() {
			return fmt.Errorf("unable to select an IP: %q is no address of this machine", o.Advertise)
		}
		cl, err := c.admitted(o, m)
		if err == nil && o.ControlPlane {
			err = c.hasImages(m, cl.settings(), m.Kubeadm, o.Ignore)
		}
		return err
	})
	if err != nil {
		return err
	}
	rest := c.w.Takes()
	if o.ControlPlane {
		before := rest / 4 // certificates and manifests, and the same until the member votes
		if err := program.Pause(ctx, before); err != nil {
			return err
		}
		if err := c.startMember(ctx, o, before); err != nil {
			return err
		}
		rest -= 2 * before
	} else if err := c.Write("/etc/kubernetes/kubelet.conf", "joining", 0o600); err != nil {
		return err
	}
	if err := program.Pause(ctx, rest); err != nil {
		return err
	}
	return c.w.On(func(m Machine) error { return c.joined(o, m) })
}

// startMember adds the member of a control-plane node to etcd. The kubelet starts it, and after a while it votes.
func (c *call) startMember(ctx context.Context, o *kubeadmconf.JoinOptions, while time.Duration) error {
	if err := c.enterEtcd(ctx, o); err != nil {
		return err
	}
	if err := c.Write("/etc/kubernetes/kubelet.conf", "joining", 0o600); err != nil {
		return err
	}
	err := c.w.On(func(m Machine) error {
		cl, err := c.admitted(o, m)
		if err == nil {
			err = c.writeEtcdData(cl)
		}
		if err == nil {
			err = c.writeMemberFiles(cl, o.Name)
		}
		if err == nil {
			c.w.Enter(cl.ID, "")
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := program.Pause(ctx, while); err != nil {
		return err
	}
	return c.w.On(func(m Machine) error {
		if cl := c.w.Cluster(); cl != nil && cl.Etcd.Of(c.w.ID()) != nil {
			cl.Etcd.Promote(c.w.ID(), o.Name)
			return nil
		}
		return errNoMember
	})
}

func (c *call) joined(o *kubeadmconf.JoinOptions, m Machine) error {
	cl, err := c.admitted(o, m)
	if err != nil {
		return err
	}
	if o.ControlPlane && cl.Etcd.Of(c.w.ID()) == nil {
		return errNoMember
	}
	if err := c.writeFiles(cl, m, node{o.Name, o.ControlPlane, o.Patches}); err != nil {
		return err
	}
	c.w.Enter(cl.ID, o.Name)
	if err := cl.AddNode(&kubeapi.Node{Name: o.Name, Machine: m.ID, Address: m.Address, ControlPlane: o.ControlPlane}); err != nil {
		return err
	}
	c.Printf("This node has joined the cluster\n")
	return nil
}

// admitted checks credentials as the cluster does.
func (c *call) admitted(o *kubeadmconf.JoinOptions, m Machine) (*Cluster, error) {
	cl, err := c.w.Reach(o.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: %w", err)
	}
	now := c.w.Now()
	if expires, known := cl.Tokens[o.Token]; !known || !expires.After(now) {
		id, _, _ := strings.Cut(o.Token, ".")
		return nil, fmt.Errorf("error execution phase preflight: couldn't validate the identity of the API Server: "+
			"could not find a JWS signature in the cluster-info ConfigMap for token ID %q", id)
	}
	if o.Hash != cl.CAHash() {
		return nil, errors.New("error execution phase preflight: couldn't validate the identity of the API Server: " +
			"cluster CA found in cluster-info ConfigMap is invalid: none of the public keys are pinned")
	}
	if o.ControlPlane {
		_, uploaded := cl.Objects["Secret/kube-system/kubeadm-certs"]
		if expires, known := cl.CertKeys[o.CertKey]; !known || !uploaded || !expires.After(now) {
			return nil, errors.New("error execution phase control-plane-prepare/download-certs: error downloading certs: the Secret does not include the required certificate or cannot be decrypted")
		}
	}
	stored, err := cl.storedVersion()
	if err == nil && Minor(stored) != Minor(m.Kubeadm) {
		err = fmt.Errorf("kubesim: kubeadm %s joins a cluster of version %s", m.Kubeadm, stored)
	}
	if err == nil {
		err = c.w.CheckKubelet(cl)
	}
	if err != nil {
		return nil, err
	}
	if n := cl.Nodes[o.Name]; n != nil && n.Machine != m.ID {
		return nil, fmt.Errorf("error execution phase kubelet-start: a Node with name %q and status \"Ready\" already exists in the cluster", o.Name)
	}
	return cl, nil
}

func (c *call) reset(_ context.Context, args []string) error {
	if _, err := c.Flags(args, func(f *pflag.FlagSet) {
		f.BoolP("force", "f", false, "")
	}); err != nil {
		return err
	}
	if err := c.dropEtcdData(); err != nil {
		return err
	}
	for _, name := range []string{"/etc/kubernetes/manifests", "/etc/kubernetes/pki", "/etc/kubernetes/admin.conf", "/etc/kubernetes/kubelet.conf", "/var/lib/kubelet"} {
		if err := c.FS.RemoveAll(name); err != nil {
			return err
		}
	}
	return c.w.On(func(m Machine) error {
		c.leaveEtcd(m)
		c.w.Leave()
		return nil
	})
}
