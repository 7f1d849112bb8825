package kubeapi

import (
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// kubelets runs pods on their nodes and ends pods that are marked for deletion.
func kubelets(c *Cluster) error {
	c.Host.EndPods(func(key string) string { return Text(c.object("Pod/"+key), "metadata", "uid") })
	pods, err := c.objects(podKind)
	if err != nil {
		return err
	}
	slices.SortStableFunc(pods, compareIn("metadata", "uid"))
	for _, p := range pods {
		n := c.Nodes[Text(p, "spec", "nodeName")]
		switch {
		case n == nil:
		case !c.ready(n):
			err = lost(c, p)
		case at(p, "metadata", "deletionTimestamp") != nil:
			err = terminate(c, p)
		default:
			if err = run(c, n, p); err == nil {
				c.noteCopy(n, p)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// noteCopy tells the host of a pod of a StatefulSet that runs.
func (c *Cluster) noteCopy(n *Node, p Object) {
	name := Text(p, "metadata", "namespace") + "/" + Text(p, "metadata", "name")
	if ownedBy(p, "StatefulSet") && Text(c.object("Pod/"+name), "status", "phase") == "Running" {
		c.Host.RunPod(n, name, Text(p, "metadata", "uid"))
	}
}

// lost sets the status of pods whose node does not answer: not ready.
func lost(c *Cluster, p Object) error {
	if !hasCondition(p, "Ready") {
		return nil
	}
	p = clone(p)
	for _, item := range list(p, "status", "conditions") {
		if cond, isMap := item.(Object); isMap && Text(cond, "type") == "Ready" {
			cond["status"], cond["reason"], cond["lastTransitionTime"] = "False", "NodeNotReady", now()
		}
	}
	return c.Store(podKind, p)
}

// after reports whether the delay of pods has passed since it was first asked about this.
func (c *Cluster) after(what string) bool {
	if c.delay <= 0 {
		return true
	}
	if c.since == nil {
		c.since = map[string]time.Time{}
	}
	if _, known := c.since[what]; !known {
		c.since[what] = time.Now()
	}
	until := c.since[what].Add(c.delay)
	if time.Now().Before(until) {
		c.dueAt(until)
		return false
	}
	return true
}

func terminate(c *Cluster, p Object) error {
	if numberOr(0, p, "metadata", "deletionGracePeriodSeconds") > 0 && !c.after("end "+Text(p, "metadata", "uid")) {
		return nil
	}
	p = clone(p)
	inner(p, "metadata")["deletionGracePeriodSeconds"] = 0
	if len(list(p, "metadata", "finalizers")) > 0 {
		return c.Store(podKind, p)
	}
	c.finish(podKind, p)
	return nil
}

// fate is what becomes of a container by the name of its image: "missing.example.net/..." cannot be pulled, "crash..."
// ends again and again, "fail..." ends badly, "endless..." does not end even in a Job.
func fate(image string) string {
	base := image[strings.LastIndex(image, "/")+1:]
	for _, f := range []string{"crash", "fail", "endless"} {
		if strings.HasPrefix(base, f) {
			return f
		}
	}
	if strings.HasPrefix(image, "missing.") {
		return "missing"
	}
	return ""
}

// run brings a pod into the state that its images lead to.
func run(c *Cluster, n *Node, p Object) error {
	phase := Text(p, "status", "phase")
	if phase == "Succeeded" || phase == "Failed" {
		return nil
	}
	uid := Text(p, "metadata", "uid")
	if !c.after("start " + uid) {
		if phase == "Pending" && !hasCondition(p, "PodScheduled") {
			return c.setStatus(podKind, p, waitingStatus(p, n, "ContainerCreating", ""))
		}
		return nil
	}
	if missing := c.missingSource(p); missing != "" {
		if err := c.event(p, "Warning", "FailedMount", "kubelet", "MountVolume.SetUp failed for volume: %s", missing); err != nil {
			return err
		}
		return c.setStatus(podKind, p, waitingStatus(p, n, "ContainerCreating", ""))
	}
	for _, name := range podLists {
		for _, container := range list(p, "spec", name) {
			switch image := Text(container, "image"); fate(image) {
			case "missing":
				return cannotPull(c, n, p, name, container)
			case "crash":
				return crashLoop(c, n, p, name, container)
			}
		}
	}
	if policy := Text(p, "spec", "restartPolicy"); policy != "Never" && policy != "OnFailure" {
		return c.setStatus(podKind, p, runningStatus(p, n))
	}
	return complete(c, n, p)
}

// complete ends a pod that is not to be started again.
func complete(c *Cluster, n *Node, p Object) error {
	status := runningStatus(p, n)
	ends := ""
	for _, container := range list(p, "spec", "containers") {
		if f := fate(Text(container, "image")); f != "" && ends != "fail" {
			ends = f
		}
	}
	if ends == "endless" || !c.after("complete "+Text(p, "metadata", "uid")) {
		return c.setStatus(podKind, p, status)
	}
	if ends == "fail" && Text(p, "spec", "restartPolicy") == "OnFailure" {
		return crashLoop(c, n, p, "containers", list(p, "spec", "containers")[0])
	}
	code, reason := 0, "Completed"
	status["phase"] = "Succeeded"
	if ends == "fail" {
		code, reason = 1, "Error"
		status["phase"] = "Failed"
	}
	for _, item := range list(status, "containerStatuses") {
		if s, isMap := item.(Object); isMap {
			s["ready"], s["started"] = false, false
			s["state"] = Object{"terminated": Object{"exitCode": code, "reason": reason, "startedAt": Text(status, "startTime"), "finishedAt": now()}}
		}
	}
	conditions := list(status, "conditions")
	for i, cond := range conditions {
		if kind := Text(cond, "type"); kind == "Ready" || kind == "ContainersReady" {
			conditions[i] = condition(p, kind, "False", map[string]string{"Completed": "PodCompleted", "Error": "PodFailed"}[reason], "")
		}
	}
	return c.setStatus(podKind, p, status)
}

// missingSource names a ConfigMap or Secret that a volume needs and that there is not.
func (c *Cluster) missingSource(p Object) string {
	namespace := Text(p, "metadata", "namespace")
	for _, v := range list(p, "spec", "volumes") {
		if name := Text(v, "configMap", "name"); name != "" && at(v, "configMap", "optional") != true && c.Objects["ConfigMap/"+namespace+"/"+name] == nil {
			return fmt.Sprintf("configmap %q not found", name)
		}
		if name := Text(v, "secret", "secretName"); name != "" && at(v, "secret", "optional") != true && c.Objects["Secret/"+namespace+"/"+name] == nil {
			return fmt.Sprintf("secret %q not found", name)
		}
	}
	return ""
}

func cannotPull(c *Cluster, n *Node, p Object, within string, container any) error {
	image := Text(container, "image")
	message := fmt.Sprintf("Failed to pull image %q: failed to resolve reference %q: dial tcp: lookup %s: no such host", image, image, strings.SplitN(image, "/", 2)[0])
	for _, e := range []struct{ kind, reason, message string }{
		{"Normal", "Pulling", fmt.Sprintf("Pulling image %q", image)}, {"Warning", "Failed", message}, {"Warning", "Failed", "Error: ErrImagePull"},
		{"Normal", "BackOff", fmt.Sprintf("Back-off pulling image %q", image)}, {"Warning", "Failed", "Error: ImagePullBackOff"},
	} {
		if err := c.event(p, e.kind, e.reason, "kubelet", "%s", e.message); err != nil {
			return err
		}
	}
	return c.setStatus(podKind, p, stuckStatus(p, n, within, container, Object{"waiting": Object{"reason": "ImagePullBackOff", "message": fmt.Sprintf("Back-off pulling image %q: ErrImagePull: %s", image, message)}}))
}

func crashLoop(c *Cluster, n *Node, p Object, within string, container any) error {
	status := stuckStatus(p, n, within, container, Object{"waiting": Object{"reason": "CrashLoopBackOff", "message": "back-off 10s restarting failed container"}})
	if within == "containers" {
		status["phase"] = "Running"
	}
	for _, name := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, item := range list(status, name) {
			if s, isMap := item.(Object); isMap && (within == "containers" || s["name"] == Text(container, "name")) {
				s["restartCount"] = 7 // more often than Jobs let pods fail by default
				s["lastState"] = Object{"terminated": Object{"exitCode": 1, "reason": "Error", "startedAt": Text(status, "startTime"), "finishedAt": Text(status, "startTime")}}
			}
		}
	}
	if err := c.event(p, "Warning", "BackOff", "kubelet", "Back-off restarting failed container %s in pod %s", Text(container, "name"), Text(p, "metadata", "name")); err != nil {
		return err
	}
	return c.setStatus(podKind, p, status)
}

// stuckStatus is the status of a pod with a container that does not run. The containers wait for an init container.
func stuckStatus(p Object, n *Node, within string, container any, state Object) Object {
	if within == "containers" {
		return waitingStatus(p, n, Text(state, "waiting", "reason"), Text(state, "waiting", "message"))
	}
	status := waitingStatus(p, n, "PodInitializing", "")
	name := Text(container, "name")
	status["initContainerStatuses"] = []any{Object{"name": name, "image": Text(container, "image"), "imageID": "", "ready": false, "started": false, "restartCount": 0, "state": state, "lastState": Object{}}}
	conditions := list(status, "conditions")
	for i, c := range conditions {
		if Text(c, "type") == "Initialized" {
			conditions[i] = condition(p, "Initialized", "False", "ContainersNotInitialized", "containers with incomplete status: ["+name+"]")
		}
	}
	return status
}

// base is what the status of every pod on a node has.
func baseStatus(p Object, n *Node, phase string) Object {
	started := Text(p, "status", "startTime")
	if started == "" {
		started = now()
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(Text(p, "metadata", "uid")))
	sum := h.Sum32()
	ip := fmt.Sprintf("10.244.%d.%d", sum>>8&0xff, sum%250+2)
	return Object{"phase": phase, "startTime": started, "hostIP": n.Address.String(), "podIP": ip, "podIPs": []any{Object{"ip": ip}}, "qosClass": "BestEffort"}
}

func runningStatus(p Object, n *Node) Object {
	status := baseStatus(p, n, "Running")
	var states []any
	for _, container := range list(p, "spec", "containers") {
		states = append(states, Object{"name": Text(container, "name"), "image": Text(container, "image"), "imageID": "sha256:0", "containerID": "containerd://" + Text(p, "metadata", "uid"), "ready": true, "started": true, "restartCount": 0,
			"state": Object{"running": Object{"startedAt": Text(status, "startTime")}}, "lastState": Object{}})
	}
	status["containerStatuses"] = states
	status["conditions"] = []any{condition(p, "PodScheduled", "True", "", ""), condition(p, "Initialized", "True", "", ""), condition(p, "ContainersReady", "True", "", ""), condition(p, "Ready", "True", "", "")}
	return status
}

func waitingStatus(p Object, n *Node, reason, message string) Object {
	status := baseStatus(p, n, "Pending")
	delete(status, "podIP")
	delete(status, "podIPs")
	var states []any
	for _, container := range list(p, "spec", "containers") {
		why := Object{"reason": reason}
		if message != "" {
			why["message"] = message
		}
		states = append(states, Object{"name": Text(container, "name"), "image": Text(container, "image"), "imageID": "", "ready": false, "started": false, "restartCount": 0,
			"state": Object{"waiting": why}, "lastState": Object{}})
	}
	status["containerStatuses"] = states
	const unready = "containers with unready status"
	status["conditions"] = []any{condition(p, "PodScheduled", "True", "", ""), condition(p, "Initialized", "True", "", ""), condition(p, "ContainersReady", "False", "ContainersNotReady", unready), condition(p, "Ready", "False", "ContainersNotReady", unready)}
	return status
}
