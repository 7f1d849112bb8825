package kubesim

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/etcd"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeadm"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
	"github.com/vnfkit/vnfkit/internal/kubesim/kubectl"
)

func runKubeadm(ctx context.Context, c *call) error { return kubeadm.Run(ctx, c.Call, node{c}) }

func runKubectl(ctx context.Context, c *call) error {
	return kubectl.Run(ctx, c.Call, func(kubeconfig string, fn func(*kubeapi.Cluster) error) error {
		return c.asAdmin(kubeconfig, func(cl *cluster) error { return fn(cl.Cluster) })
	})
}

// asAdmin runs fn with the cluster that a kubeconfig leads to, if its API answers.
func (c *call) asAdmin(kubeconfig string, fn func(*cluster) error) error {
	config, err := afero.ReadFile(c.FS, kubeconfig)
	if err != nil {
		return fmt.Errorf("error loading config file %q: %w", kubeconfig, err)
	}
	return c.on(func(*machine) error {
		cl, err := c.w.clusterOf(config)
		if err != nil {
			return err
		}
		if !c.w.quorate(cl) {
			return errors.New("Error from server: etcdserver: request timed out")
		}
		return fn(cl)
	})
}

// node is the machine on which kubeadm runs (kubeadm.World).
type node struct{ c *call }

func (n node) ID() string           { return n.c.id }
func (n node) Now() time.Time       { return n.c.w.nowFunc() }
func (n node) Takes() time.Duration { return n.c.w.takes }

func (n node) On(fn func(kubeadm.Machine) error) error {
	return n.c.on(func(m *machine) error {
		return fn(kubeadm.Machine{ID: m.ID, Address: m.Address, SwapOff: m.SwapOff, Forward: m.Forward, Runtime: m.Services["containerd"], Kubelet: m.has("kubelet"), Kubeadm: m.Packages["kubeadm"],
			Images: slices.Clone(m.Images), Offline: n.c.w.offline})
	})
}

func (n node) AsAdmin(kubeconfig string, fn func(*cluster) error) error {
	return n.c.asAdmin(kubeconfig, fn)
}
func (n node) Reach(endpoint string) (*cluster, error) { return n.c.w.reach(endpoint) }
func (n node) Running(cl *cluster) etcd.Running        { return n.c.w.members(cl) }
func (n node) Forget(cl *cluster)                      { delete(n.c.w.state.Clusters, cl.ID) }
func (n node) Cluster() *cluster                       { return n.c.w.state.Clusters[n.machine().Cluster] }

func (n node) machine() *machine { return n.c.w.state.Machines[n.c.id] }

func (n node) Found(cl *cluster) {
	cl.Host = site{n.c.w, cl}
	if cl.Etcd.Token != "" {
		n.c.w.resume(cl)
	}
	n.c.w.state.Clusters[cl.ID] = cl
}

func (n node) Enter(clusterID, name string) {
	m := n.machine()
	m.Cluster, m.Node, m.Services["kubelet"], m.Kubelet = clusterID, name, true, m.Packages["kubelet"]
}

func (n node) Unmirror(component string) {
	var observed func(machine, method, path string)
	var name string
	n.c.w.locked(func() { observed, name = n.c.w.observed, n.machine().Node })
	if observed != nil {
		observed(n.c.id, http.MethodDelete, "/api/v1/namespaces/kube-system/pods/"+component+"-"+name)
	}
}

func (n node) Leave() {
	m := n.machine()
	m.Cluster, m.Node, m.Services["kubelet"], m.Pods = "", "", false, nil
}

func (n node) Exists(machine string) bool { return n.c.w.state.Machines[machine] != nil }

func (n node) Ready(cl *cluster, of *kubeapi.Node) bool { return n.c.w.ready(cl, of) }
func (n node) APIServers(cl *cluster) map[string]string { return n.c.w.apiServers(cl) }
func (n node) KubeletVersion(of *kubeapi.Node) string   { return n.c.w.kubeletVersion(of) }

func (n node) CheckKubelet(cl *cluster) error {
	m := n.machine()
	servers := n.c.w.apiServers(cl)
	delete(servers, m.Node)
	return kubeadm.CheckKubelet(cl, nil, "", m.Packages["kubelet"], servers)
}

func (n node) HasMember() bool {
	for _, cl := range n.c.w.state.Clusters {
		if cl.Etcd.Of(n.c.id) != nil {
			return true
		}
	}
	return false
}
