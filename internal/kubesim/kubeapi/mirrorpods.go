package kubeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
)

// mirrorPod returns the object that shows a static pod, nil if the pod does not run. Mirror pods can be read by their names; lists do not have
// them.
func (c *Cluster) mirrorPod(name string) Object {
	if host, runs := c.Host.(interface{ MirrorPod(name string) Object }); runs {
		return host.MirrorPod(name)
	}
	return nil
}

// kubeletPods returns what the kubelet of a node answers at /pods: its static pods.
func (q *request) kubeletPods() any {
	rest, is := strings.CutPrefix(q.http.URL.Path, "/api/v1/nodes/")
	node, is2 := strings.CutSuffix(rest, "/proxy/pods")
	host, runs := q.c.Host.(interface{ StaticPods(node string) []Object })
	if !is || !is2 || !runs {
		return nil
	}
	return Object{"kind": "PodList", "apiVersion": "v1", "items": host.StaticPods(node)}
}

// Mirror returns the mirror pod of a running static pod with that manifest. The hash depends on the minor version of the kubelet.
func Mirror(pod Object, name string, minor int) Object {
	text, _ := json.Marshal(pod)
	hash := sha256.Sum256(fmt.Append(text, minor))
	metadata := inner(pod, "metadata")
	metadata["name"], metadata["uid"] = name, hex.EncodeToString(hash[:16])
	annotations := inner(metadata, "annotations")
	annotations["kubernetes.io/config.mirror"], annotations["kubernetes.io/config.hash"] = metadata["uid"], metadata["uid"]
	pod["status"] = Object{"phase": "Running", "conditions": []any{Object{"type": "Ready", "status": "True"}}}
	return pod
}
