// Package clustervnf holds what the drivers that make a VNF a Kubernetes cluster share: the checks of their parameters
// against the package, how nodes leave, the entry of the cluster in the VIM registry, and
// load balancers that are machines of the VNF.
package clustervnf
