package kubesim

import (
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// PodsRunTwice lists the pods of StatefulSets of which two copies have run at the same time: two writers on one volume. Beside them it lists
// members of etcd that ran with other data when etcd was restored.
// A copy continues to run if its Pod or its Node was deleted while the kubelet cannot be reached.
func (w *World) PodsRunTwice() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.state.Twice)
}

// RunPod notes that a pod of a StatefulSet runs on the machine of a node.
func (s site) RunPod(n *kubeapi.Node, name, uid string) {
	w, m := s.w, s.w.state.Machines[n.Machine]
	if m == nil {
		return
	}
	for _, id := range w.ids() {
		other := w.state.Machines[id]
		if other == m || other.Cluster != s.c.ID || other.Pods[name] == "" {
			continue
		}
		if twice := fmt.Sprintf("%s on %s and on %s", name, other.Hostname, m.Hostname); !slices.Contains(w.state.Twice, twice) {
			w.state.Twice = append(w.state.Twice, twice)
		}
	}
	if m.Pods == nil {
		m.Pods = map[string]string{}
	}
	m.Pods[name] = uid
}

// EndPods ends pods that kubelets run and the API no longer has, on machines whose kubelet reaches the API and has seen its changes.
func (s site) EndPods(uid func(name string) string) {
	for _, m := range s.w.state.Machines {
		if m.Cluster != s.c.ID || m.Blind || !s.w.reports(s.c, m) {
			continue
		}
		for name, running := range m.Pods {
			if uid(name) != running {
				delete(m.Pods, name)
			}
		}
	}
}
