package kubesim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/kubesim/containerd"
	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadm"
	"github.com/vnfkit/vnfkit/internal/kubesim/program"
)

// etcdPID is the process of etcd on a machine.
const etcdPID = "2379"

// pgrep answers "pgrep -x NAME" for the static pods of a control-plane node.
func pgrep(_ context.Context, c *call) error {
	if len(c.Args) != 2 || c.Args[0] != "-x" {
		return fmt.Errorf("kubesim: pgrep %q is not simulated", c.Args)
	}
	return c.on(func(m *machine) error {
		runs := map[string]func(*machine) bool{"etcd": c.w.hasEtcd, "kube-apiserver": c.w.hasAPI}[c.Args[1]]
		if runs == nil || !runs(m) {
			return program.ErrSilent
		}
		c.Printf("%s\n", etcdPID)
		return nil
	})
}

// nsenter runs etcdutl of etcd's image in the file system of the container of etcd, which has the data directory of the machine.
func nsenter(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	words := []string{"--target", etcdPID, "--mount", "/usr/local/bin/etcdutl", "snapshot", "restore"}
	if len(c.Args) < len(words) || !slices.Equal(c.Args[:len(words)], words) {
		return fmt.Errorf("kubesim: nsenter %q is not simulated", c.Args)
	}
	err := c.on(func(m *machine) error {
		if !c.w.hasEtcd(m) {
			return errors.New("nsenter: cannot open /proc/" + etcdPID + "/ns/mnt: No such file or directory")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return etcd.Restore(c.Call, c.Args[len(words):])
}

// enterRestored makes the data directories of machines on which etcd runs the data of the cluster, if they have been restored. A machine that
// runs with other data has no member any more.
func (w *World) enterRestored(c *cluster) {
	for _, id := range w.ids() {
		m := w.state.Machines[id]
		if m.Cluster != c.ID || !m.runs("kubelet") || c.Etcd.Of(id) == nil || w.files[id] == nil || !w.hasStatic(m, "etcd") {
			continue
		}
		files := w.files[id]()
		if etcd.TokenIn(files, kubeadm.EtcdData) == c.Etcd.Token {
			continue
		}
		r, err := etcd.ReadRestored(files, kubeadm.EtcdData)
		if err == nil && !slices.Contains(c.Etcd.Past, r.Token) {
			w.enter(c, r)
		}
	}
}

// resume notes that a control plane was made again, with restored data: kubelets of other machines have missed that.
func (w *World) resume(c *cluster) {
	first := c.Etcd.Members[0].Machine
	if was := w.state.Clusters[c.ID]; was != nil {
		w.noteTwice(was, c.Etcd.Members)
	}
	for id, m := range w.state.Machines {
		m.Blind = m.Blind || m.Cluster == c.ID && id != first
	}
}

// noteTwice notes members that run with data from before a restore.
func (w *World) noteTwice(c *cluster, restored []etcd.Member) {
	for _, old := range c.Etcd.Members {
		m := w.state.Machines[old.Machine]
		kept := slices.ContainsFunc(restored, func(e etcd.Member) bool { return e.Machine == old.Machine })
		if m != nil && !kept && !m.Off && m.Services["kubelet"] {
			w.state.Twice = append(w.state.Twice, "etcd of "+m.Hostname+", which runs with the data before a restore")
		}
	}
}

// etcdutl runs etcdutl of an image of etcd that is mounted.
func etcdutl(_ context.Context, c *call) error {
	if err := c.Root(); err != nil {
		return err
	}
	if name := c.Process.Args[0]; !strings.HasSuffix(name, containerd.Etcdutl) || name == containerd.Etcdutl {
		return program.ExitError{Code: 127, Message: "bash: " + name + ": command not found"}
	}
	if len(c.Args) < 2 || !slices.Equal(c.Args[:2], []string{"snapshot", "restore"}) {
		return fmt.Errorf("kubesim: etcdutl %q is not simulated", c.Args)
	}
	return etcd.Restore(c.Call, c.Args[2:])
}

func (w *World) enter(c *cluster, r etcd.Restored) {
	if err := c.Load(r.Content); err != nil {
		return // of a test that wrote the file
	}
	for i, e := range r.Members {
		for _, id := range w.ids() {
			if m := w.state.Machines[id]; m.Cluster == c.ID && m.Address == e.Address {
				r.Members[i].Machine = id
			}
		}
	}
	w.noteTwice(c, r.Members)
	c.Etcd.Past = append(c.Etcd.Past, c.Etcd.Token)
	c.Etcd.Members, c.Etcd.Token, c.Etcd.Leader = r.Members, r.Token, 0
	for _, m := range w.state.Machines {
		if m.Cluster == c.ID {
			m.Blind = true
		}
	}
}
