package kubernetes

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Keys of the metadata of VNFCs.
const (
	metaNamespace = "namespace"
	metaKind      = "kind"          // kind of the pod's workload
	metaWorkload  = "name"          // name of the workload
	metaUID       = "uid"           // UID of the pod: a replacement with the same name has another
	metaCreated   = "creation_time" // RFC 3339
)

// Labels of pods that name the VDU.
const (
	labelVDU       = "vnfkit.io/vdu"
	labelComponent = "app.kubernetes.io/component"
	labelName      = "app.kubernetes.io/name"
)

// scalable are the kinds of workloads of VDUs that have a number of pods.
var scalable = []string{"Deployment", "StatefulSet", "ReplicaSet", "ReplicationController"}

// unscalable are the kinds of workloads that have no number of pods. Custom resources can have one.
var unscalable = []string{"DaemonSet", "Pod"}

// running are the kinds of workloads whose pods can be VNFCs. Pods of Jobs end by themselves.
var running = slices.Concat(unscalable, scalable)

// vduOf returns the VDU of a pod: that of its workload. Of a pod that an operator has made, for a custom resource
// of the VNF, it is shown by labels. It returns "" if no VDU is known.
func (w *work) vduOf(p objects.Pod) string {
	if w.vdus == nil {
		return w.vduOfUnrecorded(p)
	}
	for _, v := range w.vdus {
		if sameObject(v.Workload, p.Top) {
			return v.VDU
		}
	}
	if slices.Contains(running, p.Top.Kind) {
		return ""
	}
	return w.vduOfLabels(p)
}

// vduOfLabels returns the VDU whose id or name is a label of a pod.
func (w *work) vduOfLabels(p objects.Pod) string {
	for _, label := range []string{labelVDU, labelComponent} {
		for _, v := range w.op.Flavour.VDUs {
			if text := p.Labels[label]; text != "" && (text == v.ID || text == v.Name) && w.design.vdus[v.ID].mapping.Name == "" {
				return v.ID
			}
		}
	}
	return ""
}

// workloads returns the workloads among refs whose replicas are the number of VNFCs of a VDU, by VDU.
func (w *work) workloads(refs []objects.Ref) map[string]objects.Ref {
	if w.vdus == nil {
		return w.unrecordedWorkloads(refs)
	}
	return scaledWorkloads(w.vdus, refs)
}

// scaledWorkloads returns those that are known.
func scaledWorkloads(known []vduWorkload, refs []objects.Ref) map[string]objects.Ref {
	out := map[string]objects.Ref{}
	for _, r := range refs {
		for _, v := range known {
			if v.Scaled && sameObject(v.Workload, r) {
				out[v.VDU] = r
			}
		}
	}
	return out
}

// podsNow returns the pods of the VNF.
func (w *work) podsNow(ctx context.Context) ([]objects.Pod, error) {
	refs, err := w.storedObjects(ctx)
	if err != nil || len(refs) == 0 {
		return nil, err
	}
	return w.objects.Pods(ctx, refs)
}

// podsOf returns the pods that are still these VNFCs: a later pod with the same name is not one of them.
func (w *work) podsOf(ctx context.Context, vnfcs []vnflcm.VNFC) ([]objects.Pod, error) {
	all, err := w.podsNow(ctx)
	return slices.DeleteFunc(all, func(p objects.Pod) bool {
		return !slices.ContainsFunc(vnfcs, func(v vnflcm.VNFC) bool { return v.Metadata[metaUID] == string(p.UID) })
	}), err
}

// vnfcs returns the VNFCs for pods. A known pod keeps its id, by its name. A new pod gets the id of a VNFC of its VDU
// whose pod no longer exists, the oldest first, or else an id derived from its UID.
func (w *work) vnfcs(pods []objects.Pod) (out []vnflcm.VNFC, unmapped []objects.Pod) {
	slices.SortFunc(pods, func(a, b objects.Pod) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	known := map[[2]string]vnflcm.VNFC{}
	for _, v := range w.op.VNFCs {
		known[[2]string{v.Metadata[metaNamespace], v.ResourceID}] = v
	}
	var fresh []int
	for _, p := range pods {
		id := w.vduOf(p)
		if id == "" {
			unmapped = append(unmapped, p)
			continue
		}
		v := w.vnfc(p, id)
		key := [2]string{p.Namespace, p.Name}
		if was, ok := known[key]; ok && w.isSame(was.VDU, id) {
			v.ID = was.ID
			delete(known, key)
		} else {
			fresh = append(fresh, len(out))
		}
		out = append(out, v)
	}
	for _, i := range fresh {
		out[i].ID = w.inherit(known, &out[i])
	}
	place := map[string]int{}
	for i, v := range w.op.VNFCs {
		place[v.ID] = i - len(w.op.VNFCs) // new ones are at 0
	}
	slices.SortStableFunc(out, func(a, b vnflcm.VNFC) int { return cmp.Compare(place[a.ID], place[b.ID]) })
	return out, unmapped
}

// isSame reports whether the VDU of a recorded VNFC is a VDU, or has become it by a change of the package.
func (w *work) isSame(recorded, vduID string) bool {
	return recorded == vduID || w.op.Successor(tosca.MappedVDU, recorded) == vduID
}

// inherit returns the id of a VNFC that has lost its pod.
func (w *work) inherit(lost map[[2]string]vnflcm.VNFC, v *vnflcm.VNFC) string {
	var heirs []vnflcm.VNFC
	for _, was := range lost {
		gone := slices.ContainsFunc(w.op.Change.Removed, func(r vnflcm.VNFC) bool { return r.ID == was.ID })
		if w.isSame(was.VDU, v.VDU) && !gone {
			heirs = append(heirs, was)
		}
	}
	if len(heirs) == 0 {
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte("vnfkit/pod/"+v.Metadata[metaUID])).String()
	}
	was := slices.MaxFunc(heirs, newestFirst(w.op.VNFCs)) // the oldest
	delete(lost, [2]string{was.Metadata[metaNamespace], was.ResourceID})
	return was.ID
}

func (w *work) vnfc(p objects.Pod, vduID string) vnflcm.VNFC {
	v := vnflcm.VNFC{ResourceID: p.Name, Name: p.Name, VDU: vduID, Host: p.Node, Aspect: aspectOf(w.op.Flavour, vduID),
		Metadata: map[string]string{metaNamespace: p.Namespace, metaKind: p.Top.Kind, metaWorkload: p.Top.Name,
			metaUID: string(p.UID), metaCreated: p.Created.UTC().Format(time.RFC3339)}}
	addr, err := netip.ParseAddr(p.IP)
	cps := slices.DeleteFunc(slices.Clone(w.op.Flavour.CPs), func(cp tosca.ConnectionPoint) bool { return cp.VDU != vduID })
	if err == nil && len(cps) == 1 { // a pod has one address: with several it is not known whose it is
		v.CPs = []vnflcm.ConnectionPoint{{CPD: cps[0].ID, ResourceID: p.Name + "-" + cps[0].ID, Fixed: []netip.Addr{addr}}}
	}
	return v
}

func aspectOf(f *tosca.Flavour, vduID string) string {
	if aspects := f.AspectsOf(vduID); len(aspects) > 0 {
		return aspects[0]
	}
	return ""
}

// newestFirst orders VNFCs as scaling in takes them: of a StatefulSet the highest ordinals, otherwise the newest. Kubernetes
// counts whole seconds; of those of one second the last in the list is the newest, which has new ones at its end.
func newestFirst(known []vnflcm.VNFC) func(a, b vnflcm.VNFC) int {
	place := map[string]int{}
	for i, v := range known {
		place[v.ID] = i
	}
	return func(a, b vnflcm.VNFC) int {
		return cmp.Or(cmp.Compare(ordinal(b), ordinal(a)), cmp.Compare(b.Metadata[metaCreated], a.Metadata[metaCreated]), cmp.Compare(place[b.ID], place[a.ID]))
	}
}

// ordinal is the number of a StatefulSet's pod, -1 for others.
func ordinal(v vnflcm.VNFC) int {
	rest, ok := strings.CutPrefix(v.ResourceID, v.Metadata[metaWorkload]+"-")
	n, err := strconv.Atoi(rest)
	if v.Metadata[metaKind] != "StatefulSet" || !ok || err != nil {
		return -1
	}
	return n
}
