// Package addons sets up what control-plane nodes have beside Kubernetes. It knows of machines only, not of operations on a cluster.
package addons
