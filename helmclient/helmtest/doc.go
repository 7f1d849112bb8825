// Package helmtest checks that an implementation of helmclient.Client does what the interface says, on a cluster whose
// controllers run: real ones, or a simulation of them.
//
//	func TestContract(t *testing.T) {
//		helmtest.Run(t, func(t *testing.T) helmtest.Subject {
//			return helmtest.Subject{Client: client, Cluster: config}
//		})
//	}
//
// The charts are made here and served from here, by HTTP with and without TLS and as a registry. The package links
// neither Helm nor any of the implementations.
package helmtest
