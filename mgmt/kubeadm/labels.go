package kubeadm

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// nodeMarks are the parameters for the labels and taints of a group of nodes. Taints have kubectl's form: key=value:Effect
// or key:Effect. An empty list means no taints; without a list, control-plane nodes have kubeadm's default taint.
type nodeMarks struct {
	Labels map[string]string `json:"labels"`
	Taints *[]string         `json:"taints"`
}

// The syntax of labels (kubernetes.io, "Labels and Selectors").
var (
	labelForm  = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)
	prefixForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$`)
)

func isLabelKey(key string) bool {
	prefix, name, prefixed := strings.Cut(key, "/")
	if !prefixed {
		return labelForm.MatchString(key)
	}
	return len(prefix) <= 253 && prefixForm.MatchString(prefix) && labelForm.MatchString(name)
}

func isLabelValue(value string) bool { return value == "" || labelForm.MatchString(value) }

// controlPlaneMark is the label of control-plane nodes, and the key of their default taint.
const controlPlaneMark = "node-role.kubernetes.io/control-plane"

// reservedLabels are set by kubeadm and the kubelet. The driver finds nodes by them.
var reservedLabels = []string{"kubernetes.io/hostname", controlPlaneMark, "node-role.kubernetes.io/master"}

// marks checks the labels and taints of a group of nodes.
func (c *checker) marks(path string, m nodeMarks) {
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		at, value := path+".labels."+key, m.Labels[key]
		switch {
		case !isLabelKey(key):
			c.Fault(path+".labels", key, "is no key of a label: up to 63 letters, digits, -, _ and ., after a DNS name and / if need be")
		case slices.Contains(reservedLabels, key):
			c.Fault(at, value, "is set by Kubernetes itself: leave it out")
		case !isLabelValue(value):
			c.Fault(at, value, "is no value of a label: up to 63 letters, digits, -, _ and ., the first and the last a letter or digit")
		}
	}
	if m.Taints == nil {
		return
	}
	seen := map[string]bool{}
	for i, text := range *m.Taints {
		t, ok := parseTaint(text)
		at := fmt.Sprintf("%s.taints[%d]", path, i)
		switch {
		case !ok:
			c.Fault(at, text, "must be key=value:Effect or key:Effect with the effect NoSchedule, PreferNoSchedule or NoExecute")
		case seen[t.Key+":"+t.Effect]:
			c.Fault(at, text, "has the key and the effect of another taint of the list")
		}
		seen[t.Key+":"+t.Effect] = true
	}
}

func parseTaint(text string) (t controlplane.Taint, ok bool) {
	left, effect, found := strings.Cut(text, ":")
	key, value, _ := strings.Cut(left, "=")
	known := slices.Contains([]string{"NoSchedule", "PreferNoSchedule", "NoExecute"}, effect)
	return controlplane.Taint{Key: key, Value: value, Effect: effect}, found && known && isLabelKey(key) && isLabelValue(value)
}

// taints returns the taints with which a node registers, or nil for kubeadm's default.
func (m nodeMarks) taints() *[]controlplane.Taint {
	if m.Taints == nil {
		return nil
	}
	out := []controlplane.Taint{}
	for _, text := range *m.Taints {
		t, _ := parseTaint(text) // checked
		out = append(out, t)
	}
	return &out
}

// taintsAfterScript returns the taints to add to a node that the package's script has set up, because the script does not
// register the node with them. Taints that the script sets remain.
func (e *environment) taintsAfterScript(n mgmt.Node) (out []corev1.Taint) {
	if e.p.ScriptPath == "" {
		return nil
	}
	return e.marks(n).apiTaints()
}

// apiTaints returns the taints in the form of the API.
func (m nodeMarks) apiTaints() (out []corev1.Taint) {
	if m.Taints == nil {
		return nil
	}
	for _, t := range *m.taints() {
		out = append(out, corev1.Taint{Key: t.Key, Value: t.Value, Effect: corev1.TaintEffect(t.Effect)})
	}
	return out
}

// byKubelet returns the labels with which the kubelet registers the node, in the form of its option, so that schedulers see
// them from the beginning.
func (m nodeMarks) byKubelet() string {
	var out []string
	for _, key := range slices.Sorted(maps.Keys(m.Labels)) {
		if kubeletMaySet(key) {
			out = append(out, key+"="+m.Labels[key])
		}
	}
	return strings.Join(out, ",")
}

// kubeletLabels are the labels of Kubernetes' own domains that a kubelet may set. A kubelet does not start with other
// labels of these domains (kubernetes.io, "Admission Control", NodeRestriction).
var kubeletLabels = []string{"kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch", "node.kubernetes.io/instance-type",
	"topology.kubernetes.io/zone", "topology.kubernetes.io/region"}

func kubeletMaySet(key string) bool {
	prefix, _, prefixed := strings.Cut(key, "/")
	of := func(domain string) bool { return prefix == domain || strings.HasSuffix(prefix, "."+domain) }
	switch {
	case !prefixed, slices.Contains(kubeletLabels, key), of("kubelet.kubernetes.io"), of("node.kubernetes.io"):
		return true
	default:
		return !of("kubernetes.io") && !of("k8s.io")
	}
}

func (e *environment) marks(n mgmt.Node) nodeMarks {
	if e.isControlPlane(n) {
		return e.p.Master.nodeMarks
	}
	return e.p.Worker.nodeMarks
}

// nodeLabels returns all labels of a node: those of the parameters and, if the VIM provides them, the compute host and the
// zone. They have Tacker's names, which anti-affinity rules of its packages use, and Kubernetes' name. A name of the VIM
// that is not valid as a label's value is left out, not changed.
func (e *environment) nodeLabels(n mgmt.Node) map[string]string {
	labels := map[string]string{}
	for key, value := range map[string]string{"CIS-node": n.Host, "kubernetes.io/zone": n.Zone, "topology.kubernetes.io/zone": n.Zone} {
		if value != "" && isLabelValue(value) {
			labels[key] = value
		}
	}
	maps.Copy(labels, e.marks(n).Labels)
	return labels
}

// runLabel sets the labels that a kubelet may not set. If a script has set up the node, runLabel also sets its taints.
func runLabel(ctx context.Context, e *environment, n mgmt.Node) error {
	labels, taints := e.nodeLabels(n), e.taintsAfterScript(n)
	if len(labels) == 0 && len(taints) == 0 {
		return nil
	}
	return n.Do(ctx, e.op, "labels", time.Minute, func(ctx context.Context) error {
		node, found, err := e.kube.NodeAt(ctx, n.IP)
		if err == nil && !found {
			err = fmt.Errorf("kubeadm: no node has the address %s", n.IP)
		}
		if err != nil {
			return err
		}
		if err := e.kube.SetLabels(ctx, node.Name, labels); err != nil {
			return err
		}
		return e.kube.SetTaints(ctx, node.Name, taints)
	})
}
