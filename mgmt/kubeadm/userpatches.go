package kubeadm

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
)

// patchParam is a patch that kubeadm applies to what it writes (kubernetes.io, "Customizing with patches").
type patchParam struct {
	Target string `json:"target"` // a key of patchTargets
	Type   string `json:"type"`   // strategicPatch (default), mergePatch or jsonPatch
	Patch  any    `json:"patch"`
}

// The types of patches.
const (
	strategicPatch = "strategic"
	mergePatch     = "merge" // RFC 7396
	jsonPatch      = "json"  // RFC 6902
)

// patchTarget describes what a patch changes. Patterns of paths have * for each element of a list.
type patchTarget struct {
	since int      // minor version of Kubernetes
	own   []string // paths that a patch may not change
}

var (
	podOwn = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.labels.component", "metadata.labels.tier", "spec.hostNetwork",
		"spec.containers.*.args", "spec.containers.*.command", "spec.containers.*.image"}
	workloadOwn = []string{"apiVersion", "kind", "metadata.name", "metadata.namespace", "spec.selector", "spec.template.spec.containers.*.image"}
)

var patchTargets = map[string]patchTarget{
	"kube-apiserver": {own: podOwn}, "kube-controller-manager": {own: podOwn}, "kube-scheduler": {own: podOwn}, "etcd": {own: podOwn},
	"kubeletconfiguration": {since: 25, own: append([]string{"cgroupDriver", "failSwapOn"}, kubeletOwn...)},
	"corednsdeployment":    {since: 32, own: workloadOwn}, "kubeproxydaemonset": {since: 37, own: workloadOwn},
}

func (c *checker) patch(at string, p patchParam, version string) {
	target, known := patchTargets[p.Target]
	switch {
	case !known:
		c.Fault(at+".target", p.Target, "must be one of "+strings.Join(slices.Sorted(maps.Keys(patchTargets)), ", "))
	case kubeversion.Minor(version) < target.since:
		c.Fault(at+".target", p.Target, fmt.Sprintf("is ignored by kubeadm before Kubernetes 1.%d", target.since))
	}
	form := cmp.Or(p.Type, strategicPatch)
	_, isObject := p.Patch.(map[string]any)
	_, isList := p.Patch.([]any)
	switch {
	case form != strategicPatch && form != mergePatch && form != jsonPatch:
		c.Fault(at+".type", p.Type, "must be strategic, merge or json")
		return
	case form == jsonPatch && !isList:
		c.Fault(at+".patch", "", "must be a list of operations (RFC 6902)")
		return
	case form != jsonPatch && !isObject:
		c.Fault(at+".patch", "", "must be an object")
		return
	}
	for _, path := range changedBy(p.Patch, form) {
		switch i := slices.IndexFunc(target.own, func(own string) bool { return overlap(path, own) }); {
		case strings.Contains(path, "$"):
			c.Fault(at+".patch", path, "has a directive, which could remove what kubeadm and the driver need: leave it out")
		case i >= 0:
			c.Fault(at+".patch", path, "changes "+target.own[i]+", which kubeadm or the driver sets: give the parameter for it, or leave it out")
		}
	}
}

// overlap reports whether one of two paths is, or contains, the other one. "" is the whole document.
func overlap(a, b string) bool {
	return a == "" || strings.HasPrefix(a+".", b+".") || strings.HasPrefix(b+".", a+".")
}

// changedBy returns the paths that a patch changes, sorted.
func changedBy(patch any, form string) []string {
	var out []string
	if form == jsonPatch {
		list, _ := patch.([]any)
		for _, element := range list {
			operation, _ := element.(map[string]any)
			if operation["op"] == "test" {
				continue
			}
			out = append(out, pointerPath(operation["path"]))
			if operation["op"] == "move" {
				out = append(out, pointerPath(operation["from"]))
			}
		}
	} else {
		out = leafPaths(nil, "", patch, form == strategicPatch)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// index matches the elements of a JSON pointer that name an element of a list.
var index = regexp.MustCompile(`^([0-9]+|-)$`)

// pointerPath returns the path of a JSON pointer (RFC 6901).
func pointerPath(pointer any) string {
	text, _ := pointer.(string)
	words := strings.Split(strings.TrimPrefix(text, "/"), "/")
	for i, word := range words {
		words[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(word)
		if index.MatchString(word) {
			words[i] = "*"
		}
	}
	return strings.Join(words, ".")
}

// leafPaths adds the paths of the values in an object. A strategic patch merges lists of objects, other patches replace lists. Names in lists choose the
// element.
func leafPaths(out []string, at string, value any, mergesLists bool) []string {
	below := func(key string) string { return strings.TrimPrefix(at+"."+key, ".") }
	switch v := value.(type) {
	case map[string]any:
		for key, child := range v {
			if key == "name" && strings.HasSuffix(at, ".*") {
				continue
			}
			out = leafPaths(out, below(key), child, mergesLists)
		}
		return out
	case []any:
		if !mergesLists {
			return append(out, at)
		}
		for _, child := range v {
			if _, isObject := child.(map[string]any); !isObject {
				return append(out, at)
			}
			out = leafPaths(out, below("*"), child, mergesLists)
		}
		return out
	}
	return append(out, at)
}
