// Package kubeaccess connects to Kubernetes clusters: it makes client-go's configuration and clients from a
// vimConnectionInfo.
package kubeaccess
