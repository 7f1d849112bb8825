// Package kubeaccess reaches a Kubernetes cluster: from a vimConnectionInfo to client-go's configuration and clients.
package kubeaccess
