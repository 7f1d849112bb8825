package kubernetes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// workload is an object of a manifest, with everything that can show its VDU.
type workload struct {
	objects.Ref
	release string            // empty with manifests
	labels  map[string]string // of the object, overridden by those of its pods
}

// workloadsOf returns the objects of a manifest that are not hooks. Objects without a namespace get the given one.
func workloadsOf(release string, all []*objects.Object, namespace string) (out []workload) {
	for _, o := range all {
		if o.GetAnnotations()["helm.sh/hook"] != "" {
			continue
		}
		w := workload{Ref: objects.RefOf(o), release: release, labels: map[string]string{}}
		if w.Namespace == "" {
			w.Namespace = namespace
		}
		for _, path := range [][]string{{"metadata", "labels"}, {"spec", "template", "metadata", "labels"}} {
			labels, _, _ := unstructured.NestedMap(o.Object, path...)
			for name, value := range labels {
				w.labels[name], _ = value.(string)
			}
		}
		out = append(out, w)
	}
	return out
}

// runsPods reports whether the pods of the workload can be VNFCs without being named.
func (w workload) runsPods() bool { return slices.Contains(running, w.Kind) }

// rule is one way in which a workload can show its VDU.
type rule struct {
	// shows reports whether the workload shows a text: the id or name of a VDU, or the name in its identification data.
	shows func(w workload, text string) bool
	// many says that all workloads which show a VDU belong to it. Otherwise one workload at most belongs to it: these
	// names and labels are also those of exporters, and of tools of the same chart.
	many bool
}

// rules are in their order: the first that shows a VDU decides.
var rules = []rule{
	{namedByTacker, true},
	{labelled(labelVDU), true},
	{labelled(labelComponent), true},
	{namedByHelm, false},
	{labelled(labelName), false},
	{labelled("component"), false}, // of charts from before the recommended labels
	{labelled("app"), false},
}

func labelled(label string) func(workload, string) bool {
	return func(w workload, text string) bool { return w.labels[label] == text }
}

// namedByTacker is the rule of version 2 of Tacker's API: the name, with or without "-" and the release.
func namedByTacker(w workload, text string) bool {
	rest, begins := strings.CutPrefix(w.Name, text)
	if !begins || rest == "" || w.release == "" {
		return begins && rest == ""
	}
	return rest[0] == '-' && rest[1:] == w.release
}

// namedByHelm is the rule of the template "fullname" that helm create makes: the release and the name, or only the release if
// it contains the name.
func namedByHelm(w workload, text string) bool {
	if w.release == "" || !strings.HasPrefix(w.Name, w.release[:min(len(w.release), maxHelmName)]) {
		return false
	}
	full := w.release + "-" + text
	full = strings.TrimSuffix(full[:min(len(full), maxHelmName)], "-")
	return w.Name == full || w.Name == w.release && strings.Contains("-"+w.release+"-", "-"+text+"-")
}

// maxHelmName is the length at which charts cut the names of their objects, the limit for a label of DNS.
const maxHelmName = 63

// vduWorkload is a workload whose VDU was looked for.
type vduWorkload struct {
	VDU      string      `json:"vdu,omitempty"` // empty: the workload shows several VDUs
	Workload objects.Ref `json:"workload"`
	Scaled   bool        `json:"scaled,omitempty"` // its replicas are the number of VNFCs of the VDU

	rank int // the lower, the stronger
}

// Ranks of workloads that no rule has found.
const (
	rankNamed = -1      // vdu_mapping or identification data name it
	rankOnly  = 1 << 10 // no other VDU is possible
	rankNone  = 1 << 11 // several VDUs are possible
)

// vduFinder finds the workloads of VDUs in the manifests of a VNF.
type vduFinder struct {
	*design
	flavour *tosca.Flavour
	all     []workload

	allowed  map[string]map[string]bool // by release: the VDUs that its workloads can be of
	shown    []int                      // indexes of the workloads that run pods, sorted by their names
	found    []vduWorkload
	has      map[string]bool   // VDUs in found
	taken    map[int]bool      // indexes of all
	doubts   map[string]string // by VDU, or by the name of a workload
	faults   faults
	warnings []string
}

// maxPairs bounds the comparisons of VDUs with objects, which charts can make in any number.
const maxPairs = 1_000_000

// findVDUs finds the workloads of the VDUs. The error has a fault for each VDU that vdu_mapping or the VNFD's
// mcio_identification_data name without success; warnings name other VDUs without a workload, and workloads and VDUs that
// are ambiguous.
func (d *design) findVDUs(flavour *tosca.Flavour, all []workload) (found []vduWorkload, warnings []string, err error) {
	f := &vduFinder{design: d, flavour: flavour, all: all, allowed: d.allowedVDUs(flavour), found: []vduWorkload{}, has: map[string]bool{}, taken: map[int]bool{}, doubts: map[string]string{}}
	if len(flavour.VDUs)*len(all) > maxPairs {
		return f.found, nil, &vnflcm.ParamError{Path: "flavourId", Value: flavour.ID, Reason: fmt.Sprintf("has %d VDUs, and its charts or manifests %d objects: too many to compare", len(flavour.VDUs), len(all))}
	}
	f.sortShown()
	for _, v := range flavour.VDUs {
		if m := d.vdus[v.ID].mapping; m.Name != "" {
			f.findMapped(v, m)
		}
	}
	for _, v := range flavour.VDUs {
		if d.isIdentified(v) {
			f.findIdentified(v)
		}
	}
	for rank, r := range rules {
		f.apply(rank, r)
	}
	f.findOnly()
	f.warn()
	f.chooseScaled()
	return f.found, f.warnings, f.faults.err()
}

// isIdentified reports whether the VNFD, and not the request, names the workload of a VDU.
func (d *design) isIdentified(v tosca.VDU) bool {
	return d.vdus[v.ID].mapping.Name == "" && v.MCIO.Name != ""
}

// isOpen reports whether names and labels show the workload of a VDU, because neither request nor VNFD name it.
func (d *design) isOpen(v tosca.VDU) bool {
	return d.vdus[v.ID].mapping.Name == "" && v.MCIO.Name == ""
}

// allowedVDUs returns, by release, the VDUs that the workloads of the release can be of: those of its MCIOP. An MCIOP without VDUs makes
// the workloads of the VDUs that no MCIOP has, as other releases do.
func (d *design) allowedVDUs(flavour *tosca.Flavour) map[string]map[string]bool {
	out, free := map[string]map[string]bool{}, map[string]bool{}
	for _, v := range flavour.VDUs {
		free[v.ID] = true
	}
	for _, r := range d.releases {
		of := map[string]bool{}
		for _, id := range r.vdus {
			of[id] = true
			delete(free, id)
		}
		out[r.name] = of
	}
	for _, r := range d.releases {
		if len(r.vdus) == 0 {
			out[r.name] = free
		}
	}
	return out
}

// mayBeOf reports whether the VNFD allows a workload to be of a VDU. It allows all VDUs for workloads of manifests.
func (f *vduFinder) mayBeOf(w workload, vduID string) bool {
	of, known := f.allowed[w.release]
	return !known || of[vduID]
}

func (f *vduFinder) take(i int, vduID string, rank int) {
	f.taken[i], f.has[vduID] = true, true
	f.found = append(f.found, vduWorkload{VDU: vduID, Workload: f.all[i].Ref, rank: rank})
}

func (f *vduFinder) hasWorkload(vduID string) bool { return f.has[vduID] }

// indexes returns the workloads that are left and meet a condition.
func (f *vduFinder) indexes(meets func(workload) bool) (out []int) {
	for i, w := range f.all {
		if !f.taken[i] && meets(w) {
			out = append(out, i)
		}
	}
	return out
}

func (f *vduFinder) findMapped(v tosca.VDU, m vduMapping) {
	isMapped := func(w workload) bool { return w.Kind == m.Kind && w.Name == m.Name }
	found := f.indexes(isMapped)
	switch {
	case !slices.ContainsFunc(f.all, isMapped):
		f.faults.add("vdu_mapping."+v.ID, m.Kind+" "+m.Name, "is not made by the charts or manifests: "+f.names(everyWorkload))
	case len(found) == 0:
		f.doubt(v.ID, fmt.Sprintf("VDU %s has no workload: vdu_mapping gives %s %s to another VDU", v.ID, m.Kind, m.Name))
	}
	for _, i := range found {
		f.take(i, v.ID, rankNamed)
	}
}

func (f *vduFinder) findIdentified(v tosca.VDU) {
	path, value := "vdu_mapping."+v.ID, v.MCIO.Type+" "+v.MCIO.Name
	isKind := func(w workload) bool {
		return (strings.EqualFold(v.MCIO.Type, w.Kind) || v.MCIO.Type == "" && w.runsPods()) && f.mayBeOf(w, v.ID)
	}
	for _, r := range append(slices.Clip(rules), rule{namedInOtherRelease, false}) {
		found := f.indexes(func(w workload) bool { return isKind(w) && r.shows(w, v.MCIO.Name) })
		if len(found) == 1 {
			f.take(found[0], v.ID, rankNamed)
			return
		}
		if len(found) > 1 {
			f.faults.add(path, value, "of the VNFD's mcio_identification_data can be "+f.namesAt(found, " or ")+": vdu_mapping says which")
			return
		}
	}
	names := f.names(func(w workload) bool { return f.mayBeOf(w, v.ID) })
	f.faults.add(path, value, "of the VNFD's mcio_identification_data is not made by the charts or manifests: "+names+"; vdu_mapping can name it")
}

// apply finds workloads by a rule.
func (f *vduFinder) apply(rank int, r rule) {
	of := map[string][]int{}
	for _, i := range f.indexes(workload.runsPods) {
		var vdus []string
		for _, v := range f.flavour.VDUs {
			shown := r.shows(f.all[i], v.ID) || v.Name != "" && r.shows(f.all[i], v.Name)
			if shown && f.isOpen(v) && f.mayBeOf(f.all[i], v.ID) && (r.many || !f.hasWorkload(v.ID)) {
				vdus = append(vdus, v.ID)
			}
		}
		switch {
		case len(vdus) == 1:
			of[vdus[0]] = append(of[vdus[0]], i)
		case len(vdus) > 1:
			f.doubt(f.all[i].String(), fmt.Sprintf("%s can be of the VDUs %s: vdu_mapping says which", f.all[i], few(vdus, " and ")))
			f.take(i, "", rankNone)
		}
	}
	for _, id := range sortedKeys(of) {
		if len(of[id]) > 1 && !r.many {
			f.doubt(id, fmt.Sprintf("VDU %s can have %s: vdu_mapping says which", id, f.namesAt(of[id], " or ")))
			continue
		}
		for _, i := range of[id] {
			f.take(i, id, rank)
		}
	}
}

// doubt keeps the first doubt about a VDU or a workload.
func (f *vduFinder) doubt(about, text string) { f.doubts[about] = cmp.Or(f.doubts[about], text) }

// findOnly gives the workloads that are left to the VDU that is the only one of the flavour, or of the MCIOP that makes them,
// if names and labels show none of its workloads.
func (f *vduFinder) findOnly() {
	only, of := map[string]string{}, map[string][]int{} // only: by release, the only VDU that is possible
	for _, i := range f.indexes(workload.runsPods) {
		id, known := only[f.all[i].release]
		if !known {
			id = f.onlyVDU(f.all[i])
			only[f.all[i].release] = id
		}
		if id != "" {
			of[id] = append(of[id], i)
		}
	}
	for _, id := range sortedKeys(of) {
		delete(f.doubts, id)
		for _, i := range of[id] {
			f.take(i, id, rankOnly)
		}
	}
}

// onlyVDU returns the only VDU that the VNFD allows for a workload, "" if several are possible or the VDU has a workload.
func (f *vduFinder) onlyVDU(w workload) string {
	possible := slices.DeleteFunc(slices.Clone(f.flavour.VDUs), func(v tosca.VDU) bool { return !f.mayBeOf(w, v.ID) })
	if len(possible) == 1 && f.isOpen(possible[0]) && !f.hasWorkload(possible[0].ID) {
		return possible[0].ID
	}
	return ""
}

// warn says which VDUs have no workload, and what is ambiguous.
func (f *vduFinder) warn() {
	all := f.names(everyWorkload)
	for _, v := range f.flavour.VDUs {
		if f.hasWorkload(v.ID) {
			delete(f.doubts, v.ID)
		} else if f.isOpen(v) {
			f.doubt(v.ID, fmt.Sprintf("VDU %s has no workload: %s; vdu_mapping can name it", v.ID, all))
		}
	}
	for _, about := range sortedKeys(f.doubts) {
		f.warnings = append(f.warnings, f.doubts[about])
	}
}

// chooseScaled chooses the workload of each VDU whose replicas are the number of VNFCs: the one that was found by the strongest
// rule. If several were, the VDU cannot be scaled by a workload.
func (f *vduFinder) chooseScaled() {
	best := map[string][]int{}
	for i, v := range f.found {
		if v.VDU == "" || v.rank != rankNamed && !slices.Contains(scalable, v.Workload.Kind) || slices.Contains(unscalable, v.Workload.Kind) {
			continue
		}
		if known := best[v.VDU]; len(known) == 0 || f.found[known[0]].rank == v.rank { // found is sorted by rank
			best[v.VDU] = append(known, i)
		}
	}
	for _, of := range best {
		if len(of) == 1 {
			f.found[of[0]].Scaled = true
		}
	}
}

// sortShown sorts the workloads that messages name.
func (f *vduFinder) sortShown() {
	names := make([]string, len(f.all))
	for i, w := range f.all {
		if w.runsPods() {
			names[i], f.shown = w.String(), append(f.shown, i)
		}
	}
	slices.SortFunc(f.shown, func(i, j int) int { return cmp.Compare(names[i], names[j]) })
}

// everyWorkload is the condition of names that every workload meets.
func everyWorkload(workload) bool { return true }

// names lists the workloads that meet a condition, for a message.
func (f *vduFinder) names(meets func(workload) bool) string {
	var found []int
	for _, i := range f.shown {
		if meets(f.all[i]) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		return "they make no workloads"
	}
	return "the workloads are " + f.namesAt(found, ", ")
}

// namesAt lists workloads by their indexes.
func (f *vduFinder) namesAt(indexes []int, separator string) string {
	names := make([]string, 0, shownObjects)
	for _, i := range indexes[:min(len(indexes), shownObjects)] {
		names = append(names, f.all[i].String())
	}
	return few(names, separator) + more(len(indexes))
}

// few joins the first names of a list.
func few(names []string, separator string) string {
	return strings.Join(names[:min(len(names), shownObjects)], separator) + more(len(names))
}

// more says how many of n names a message does not have.
func more(n int) string {
	if n <= shownObjects {
		return ""
	}
	return fmt.Sprintf(" and %d more", n-shownObjects)
}

// sameObject reports whether two Refs name the same object, in any version of its API.
func sameObject(a, b objects.Ref) bool {
	return a.Kind == b.Kind && a.Namespace == b.Namespace && a.Name == b.Name
}
