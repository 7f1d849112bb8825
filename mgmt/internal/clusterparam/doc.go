// Package clusterparam checks the parameters that the drivers of Kubernetes clusters have in common, and stores the
// settings of a cluster.
package clusterparam
