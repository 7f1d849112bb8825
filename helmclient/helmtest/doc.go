// Package helmtest tests an implementation of helmclient.Client against the interface, on a cluster with running
// controllers, real or simulated.
//
//	func TestContract(t *testing.T) {
//		helmtest.Run(t, func(t *testing.T) helmtest.Subject {
//			return helmtest.Subject{Client: client, Cluster: config}
//		})
//	}
//
// RunPair checks that two implementations, such as those of two versions of Helm, work on the releases of each other.
//
// The package makes the charts and serves them, by HTTP with and without TLS and as a registry. It links
// neither Helm nor any of the implementations.
package helmtest
