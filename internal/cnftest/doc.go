// Package cnftest gives tests a simulated Kubernetes cluster without machines: its API is served on loopback over TLS,
// well enough for Helm's packages and client-go's dynamic client, and its controllers run workloads (see package
// kubesim for what is simulated, and what is not). A test can make the API fail: answers by code, cut connections,
// delays, a server that is stopped for a while, tokens that end.
//
// The image of a pod determines its fate: "missing.example.net/..." cannot be pulled, names that begin with "crash"
// end again and again, with "fail" end badly in Jobs, with "endless" do not end there.
package cnftest
