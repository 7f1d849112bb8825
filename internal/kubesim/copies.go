package kubesim

import (
	"fmt"
	"slices"
)

// PodsRunTwice lists the pods of StatefulSets of which two copies have run at the same time: two writers on one volume.
// A copy continues to run if its Pod or its Node was deleted while the kubelet cannot be reached.
func (w *World) PodsRunTwice() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.state.Twice)
}

// noteCopy notes that a pod of a StatefulSet runs on a machine.
func (w *World) noteCopy(c *cluster, n *node, p object) {
	m := w.state.Machines[n.Machine]
	key := textAt(p, "metadata", "namespace") + "/" + textAt(p, "metadata", "name")
	if m == nil || !ownedBy(p, "StatefulSet") || textAt(c.object("Pod/"+key), "status", "phase") != "Running" {
		return
	}
	for _, id := range w.ids() {
		other := w.state.Machines[id]
		if other == m || other.Cluster != c.ID || other.Pods[key] == "" {
			continue
		}
		if twice := fmt.Sprintf("%s on %s and on %s", key, other.Hostname, m.Hostname); !slices.Contains(w.state.Twice, twice) {
			w.state.Twice = append(w.state.Twice, twice)
		}
	}
	if m.Pods == nil {
		m.Pods = map[string]string{}
	}
	m.Pods[key] = textAt(p, "metadata", "uid")
}

// endCopies ends pods that kubelets run and the API no longer has, on machines that answer.
func (w *World) endCopies(c *cluster) {
	for _, m := range w.state.Machines {
		if m.Cluster != c.ID || !m.runs("kubelet") {
			continue
		}
		for key, uid := range m.Pods {
			if textAt(c.object("Pod/"+key), "metadata", "uid") != uid {
				delete(m.Pods, key)
			}
		}
	}
}
