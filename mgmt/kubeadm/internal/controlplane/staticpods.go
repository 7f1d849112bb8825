package controlplane

import (
	"context"
	"errors"
	"fmt"

	"gopkg.in/yaml.v3"

	"github.com/vnfkit/vnfkit/mgmt"
)

// Static pods of a control-plane node.
const (
	StaticEtcd              = "etcd"
	StaticAPIServer         = "kube-apiserver"
	StaticControllerManager = "kube-controller-manager"
	StaticScheduler         = "kube-scheduler"
)

// MarkOf returns the value of an annotation in the manifest of a static pod, "" if it has none.
func MarkOf(ctx context.Context, n mgmt.Node, pod, annotation string) (string, error) {
	root, err := readManifest(ctx, n, pod)
	if err != nil {
		return "", err
	}
	if value := child(child(child(root, "metadata"), "annotations"), annotation); value != nil {
		return value.Value, nil
	}
	return "", nil
}

// Mark sets an annotation in the manifest of a static pod. The kubelet then starts the pod again, because its manifest has changed. The
// file is replaced at once: the kubelet finds no moment without a manifest, and never a second one.
func Mark(ctx context.Context, n mgmt.Node, pod, annotation, value string) error {
	root, err := readManifest(ctx, n, pod)
	if err != nil {
		return err
	}
	metadata := child(root, "metadata")
	annotations := child(metadata, "annotations")
	if annotations == nil || annotations.Kind != yaml.MappingNode {
		annotations = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		set(metadata, "annotations", annotations)
	}
	set(annotations, annotation, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: value})
	text, err := Marshal(root)
	if err != nil {
		return err
	}
	return n.Root().Write(ctx, manifestOf(pod), text, 0o600)
}

func manifestOf(pod string) string { return directory + "manifests/" + pod + ".yaml" }

// readManifest returns the mapping of a manifest, which has metadata.
func readManifest(ctx context.Context, n mgmt.Node, pod string) (*yaml.Node, error) {
	text, err := n.Root().ReadFile(ctx, manifestOf(pod))
	if err != nil {
		return nil, err
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil || len(document.Content) != 1 || child(document.Content[0], "metadata") == nil {
		return nil, errors.Join(fmt.Errorf("kubeadm: %s: %s is no manifest of a pod", n.Label(), manifestOf(pod)), err)
	}
	return document.Content[0], nil
}

// child returns the value of a key of a mapping, nil if the mapping lacks the key.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i+1]
		}
	}
	return nil
}

// set sets the value of a key of a mapping.
func set(mapping *yaml.Node, key string, value *yaml.Node) {
	if old := child(mapping, key); old != nil {
		*old = *value
		return
	}
	mapping.Content = append(mapping.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key}, value)
}
