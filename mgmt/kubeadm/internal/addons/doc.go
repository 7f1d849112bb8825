// Package addons sets up programs on control-plane nodes that are not part of Kubernetes, such as Helm. It works on given
// machines and does not depend on operations of a cluster.
package addons
