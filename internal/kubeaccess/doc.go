// Package kubeaccess connects to Kubernetes APIs: one Connection has the address policy, the dialer, such as a jump host or the SSH
// connection of a node, the verification of the server and the bounds of answers. Open makes a Cluster, which repeats requests, from a
// vimConnectionInfo; Connect makes a Connection from what a driver has found otherwise.
package kubeaccess
