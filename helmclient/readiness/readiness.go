package readiness

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/internal/bounded"
)

// Related are objects that explain the state of the objects that are waited for.
type Related struct {
	Pods   []unstructured.Unstructured
	Events []unstructured.Unstructured // of kind Event; only warnings count, and what claims wait for
	// Between are objects between workloads and their pods, such as ReplicaSets.
	Between []unstructured.Unstructured
	Claims  []unstructured.Unstructured // PersistentVolumeClaims of the pods
	// Logs returns the last lines of the failed containers of a pod, see FailedContainers. Nil: they are left out.
	Logs func(pod *unstructured.Unstructured) []string
}

// maxEvents and maxPods bound the details for one object, maxText each text of the cluster.
const (
	maxEvents = 3
	maxPods   = 5
	maxText   = 1 << 10
)

// Of counts the ready objects, and explains for each other object what it waits for, see About.
func Of(objects []unstructured.Unstructured, r Related) helmclient.Progress {
	p := helmclient.Progress{Total: len(objects)}
	for i := range objects {
		if ready, _ := State(&objects[i]); ready {
			p.Ready++
		} else {
			p.Waiting = append(p.Waiting, About(&objects[i], r))
		}
	}
	return p
}

// About explains the state of an object, ready or not: its status by kstatus, why it has no pods, the state of its pods and
// of their claims, and the last warnings about all of them.
func About(o *unstructured.Unstructured, r Related) helmclient.Object {
	out := helmclient.Object{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Namespace: o.GetNamespace(), Name: o.GetName(), Reason: message(o)}
	owners := r.below(o)
	about := map[types.UID]bool{}
	for _, owner := range owners {
		about[owner.GetUID()] = true
	}
	out.Pods = refusals(owners)
	claims := map[string]bool{}
	for i := range r.Pods {
		pod := &r.Pods[i]
		if !slices.ContainsFunc(owners, func(owner *unstructured.Unstructured) bool { return belongs(pod, owner) }) {
			continue
		}
		about[pod.GetUID()] = true
		why := PodReason(pod)
		if why != "" && len(out.Pods) < maxPods && o.GetKind() != "Pod" {
			out.Pods = append(out.Pods, "pod "+pod.GetName()+": "+why)
		}
		if why != "" {
			addClaims(claims, pod)
		}
		if r.Logs != nil && len(out.Logs) < maxPods {
			out.Logs = append(out.Logs, r.Logs(pod)...)
		}
	}
	for i := range r.Claims {
		claim := &r.Claims[i]
		if ready, why := State(claim); !ready && claims[claim.GetName()] && claim.GetNamespace() == o.GetNamespace() && len(out.Pods) < 2*maxPods {
			about[claim.GetUID()] = true
			out.Pods = append(out.Pods, "claim "+claim.GetName()+": "+why)
		}
	}
	out.Events = slices.DeleteFunc(warnings(r.Events, about), func(text string) bool {
		return slices.ContainsFunc(out.Pods, func(said string) bool {
			_, why, _ := strings.Cut(said, ": "+failedCreate+": ")
			return why != "" && strings.Contains(withoutNames(text), withoutNames(why))
		})
	})
	return out
}

// below returns an object, and the objects between it and its pods.
func (r Related) below(o *unstructured.Unstructured) []*unstructured.Unstructured {
	out := []*unstructured.Unstructured{o}
	for range 3 { // levels: a circle of owners must not be followed for ever
		for i := range r.Between {
			b := &r.Between[i]
			owned := func(owner *unstructured.Unstructured) bool { return ownedBy(b, owner) }
			if slices.ContainsFunc(out, owned) && !slices.Contains(out, b) && !retired(b) {
				out = append(out, b)
			}
		}
	}
	return out
}

// retired reports whether a ReplicaSet is to have no pods, as those of earlier revisions.
func retired(o *unstructured.Unstructured) bool {
	n, found, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
	return o.GetKind() == "ReplicaSet" && found && err == nil && n == 0
}

// failedCreate is the reason of the condition ReplicaFailure of a workload whose pods are refused.
const failedCreate = "FailedCreate"

// refusals returns why pods are refused. A Deployment has the condition of its ReplicaSet: the last owner counts.
func refusals(owners []*unstructured.Unstructured) []string {
	for _, o := range slices.Backward(owners) {
		conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == "ReplicaFailure" && m["status"] == "True" {
				return []string{o.GetKind() + " " + o.GetName() + ": " + sentence(text(m, "reason"), text(m, "message"))}
			}
		}
	}
	return nil
}

// addClaims adds the claims that the volumes of a pod name.
func addClaims(claims map[string]bool, pod *unstructured.Unstructured) {
	volumes, _, _ := unstructured.NestedSlice(pod.Object, "spec", "volumes")
	for _, v := range volumes {
		m, ok := v.(map[string]any)
		if !ok {
			continue
		}
		if name := text(m, "persistentVolumeClaim", "claimName"); name != "" {
			claims[name] = true
		}
		if m["ephemeral"] != nil {
			claims[pod.GetName()+"-"+text(m, "name")] = true
		}
	}
}

// Missing is an object that is waited for and that does not exist.
func Missing(apiVersion, kind, namespace, name string) helmclient.Object {
	return helmclient.Object{APIVersion: apiVersion, Kind: kind, Namespace: namespace, Name: name, Reason: "does not exist"}
}

// State reports whether an object is ready and, if it is not, why. One that is about to be deleted is not ready, one
// that has failed never will be.
func State(o *unstructured.Unstructured) (ready bool, reason string) {
	if result, err := status.Compute(o); err == nil && result.Status == status.CurrentStatus {
		return true, ""
	}
	return false, message(o)
}

// message describes the status of an object.
func message(o *unstructured.Unstructured) string {
	result, err := status.Compute(o)
	if err != nil {
		return bounded.Text(err.Error(), maxText)
	}
	if o.GetKind() == "Pod" && result.Status != status.CurrentStatus {
		if why := PodReason(o); why != "" {
			return why
		}
	}
	return bounded.Text(result.Message, maxText)
}

// Failed reports whether the status of an object says that it will not become ready, so that waiting longer is useless.
func Failed(o *unstructured.Unstructured) bool {
	result, err := status.Compute(o)
	return err == nil && result.Status == status.FailedStatus
}

// belongs reports whether the pod is of the object: itself, owned by it, or chosen by its selector, which is how a
// Deployment finds pods that a ReplicaSet owns.
func belongs(pod, o *unstructured.Unstructured) bool {
	if pod.GetNamespace() != o.GetNamespace() {
		return false
	}
	if pod.GetUID() == o.GetUID() && o.GetKind() == "Pod" {
		return true
	}
	if ownedBy(pod, o) {
		return true
	}
	chosen, found, err := unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
	return o.GetKind() == "Deployment" && found && err == nil && len(chosen) > 0 && labels.SelectorFromSet(chosen).Matches(labels.Set(pod.GetLabels()))
}

func ownedBy(o, owner *unstructured.Unstructured) bool {
	return slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == owner.GetUID() })
}

// PodReason returns the reason why a pod is not ready, empty if it is ready: no node fits, a container waits or has ended,
// or who has yet to act, the scheduler or a node.
func PodReason(pod *unstructured.Unstructured) string {
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, c := range containers {
			if why := containerReason(c); why != "" {
				return why
			}
		}
	}
	conditions, _, _ := unstructured.NestedSlice(pod.Object, "status", "conditions")
	for _, kind := range []string{"PodScheduled", "Initialized", "Ready"} {
		for _, c := range conditions {
			if m, ok := c.(map[string]any); ok && m["type"] == kind && m["status"] != "True" {
				return sentence(text(m, "reason"), text(m, "message"))
			}
		}
	}
	switch phase := text(pod.Object, "status", "phase"); phase {
	case "Running", "Succeeded":
		return ""
	case "Pending":
		return sentence(phase, cmp.Or(text(pod.Object, "status", "message"), awaited(text(pod.Object, "spec", "nodeName"))))
	default:
		return sentence(phase, text(pod.Object, "status", "message"))
	}
}

// awaited says what comes next for a pod that nothing is known to hinder, by the name of its node.
func awaited(node string) string {
	if node == "" {
		return "no node is assigned yet"
	}
	return "node " + node + " does not run it yet"
}

// quiet are reasons without information.
var quiet = []string{"ContainerCreating", "PodInitializing", "Completed"}

func containerReason(c any) string {
	m, ok := c.(map[string]any)
	if !ok {
		return ""
	}
	if reason := text(m, "state", "waiting", "reason"); reason != "" && !slices.Contains(quiet, reason) {
		why := sentence(reason, text(m, "state", "waiting", "message"))
		if last := text(m, "lastState", "terminated", "reason"); last != "" && last != "Completed" {
			why += ended(m, "lastState")
		}
		return text(m, "name") + ": " + why
	}
	if reason := text(m, "state", "terminated", "reason"); reason != "" && !slices.Contains(quiet, reason) {
		return text(m, "name") + ": " + reason + ended(m, "state")
	}
	return ""
}

// Container is a container of a pod that has failed.
type Container struct {
	Name     string
	Previous bool // the container has been started again since: its earlier run has failed
}

// FailedContainers returns the containers of a pod, init containers first, whose last run that ended has failed.
func FailedContainers(pod *unstructured.Unstructured) (failed []Container) {
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		containers, _, _ := unstructured.NestedSlice(pod.Object, "status", list)
		for _, c := range containers {
			m, ok := c.(map[string]any)
			if !ok {
				continue
			}
			if hasFailed(m, "state") || m["ready"] != true && hasFailed(m, "lastState") {
				failed = append(failed, Container{Name: text(m, "name"), Previous: !hasFailed(m, "state")})
			}
		}
	}
	return failed
}

func hasFailed(status map[string]any, state string) bool {
	code, found, err := unstructured.NestedFieldNoCopy(status, state, "terminated", "exitCode")
	return found && err == nil && fmt.Sprint(code) != "0"
}

// ended says how a container came to its end.
func ended(m map[string]any, state string) string {
	code, _, _ := unstructured.NestedFieldNoCopy(m, state, "terminated", "exitCode")
	out := fmt.Sprintf(" (%s, exit code %v", text(m, state, "terminated", "reason"), code)
	if message := text(m, state, "terminated", "message"); message != "" {
		out += ": " + strings.TrimSpace(message)
	}
	return out + ")"
}

// waits are the reasons of events of type Normal that say what a claim waits for.
var waits = []string{"WaitForFirstConsumer", "WaitForPodScheduled", "ExternalProvisioning", "FailedBinding"}

// warnings are the last events about objects that are of type Warning or say what a claim waits for, the newest last, each
// once.
func warnings(events []unstructured.Unstructured, about map[types.UID]bool) []string {
	type said struct{ when, what string }
	var list []said
	for i := range events {
		e := events[i].Object
		tells := text(e, "type") == "Warning" || text(e, "involvedObject", "kind") == "PersistentVolumeClaim" && slices.Contains(waits, text(e, "reason"))
		if !tells || !about[types.UID(text(e, "involvedObject", "uid"))] {
			continue
		}
		when := text(e, "lastTimestamp")
		if when == "" {
			when = text(e, "eventTime")
		}
		list = append(list, said{when, sentence(text(e, "reason"), text(e, "message"))})
	}
	slices.SortStableFunc(list, func(a, b said) int { return strings.Compare(a.when, b.when) })
	var out []string
	for i := len(list) - 1; i >= 0 && len(out) < maxEvents; i-- {
		if !slices.ContainsFunc(out, func(later string) bool { return withoutNames(later) == withoutNames(list[i].what) }) {
			out = append(out, list[i].what)
		}
	}
	slices.Reverse(out)
	return out
}

// podNames matches the name of a pod that a controller could not create. Each attempt has another name.
var podNames = regexp.MustCompile(`pods "[^"]*"`)

// withoutNames returns a text that is the same for every attempt to create a pod. The API server joins events that are alike.
func withoutNames(text string) string {
	return podNames.ReplaceAllString(strings.Replace(text, "(combined from similar events): ", "", 1), "pods")
}

func sentence(reason, message string) string {
	message = strings.TrimSpace(message)
	if reason == "" || message == "" {
		return reason + message
	}
	return reason + ": " + message
}

func text(m map[string]any, path ...string) string {
	s, _, _ := unstructured.NestedString(m, path...)
	return bounded.Text(s, maxText)
}
