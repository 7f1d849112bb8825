// Package clusterparam checks the parameters that the drivers of Kubernetes clusters share against the package, and stores what a cluster is
// made with.
package clusterparam
