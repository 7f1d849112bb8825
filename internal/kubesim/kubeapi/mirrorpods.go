package kubeapi

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// mirrorPod returns the object that shows a static pod, nil if the pod does not run. Mirror pods can be read by their names; lists do not have
// them.
func (c *Cluster) mirrorPod(name string) Object {
	if host, runs := c.Host.(interface{ MirrorPod(name string) Object }); runs {
		return host.MirrorPod(name)
	}
	return nil
}

// Mirror returns the mirror pod of a running static pod with that manifest.
func Mirror(pod Object, name string) Object {
	text, _ := json.Marshal(pod)
	hash := sha256.Sum256(text)
	metadata := inner(pod, "metadata")
	metadata["name"], metadata["uid"] = name, hex.EncodeToString(hash[:16])
	annotations := inner(metadata, "annotations")
	annotations["kubernetes.io/config.mirror"], annotations["kubernetes.io/config.hash"] = metadata["uid"], metadata["uid"]
	pod["status"] = Object{"phase": "Running", "conditions": []any{Object{"type": "Ready", "status": "True"}}}
	return pod
}
