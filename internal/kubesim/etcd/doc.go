// Package etcd simulates the etcd of a Kubernetes cluster: its members, and the calls by which a driver lists and removes members and
// hands leadership on.
//
// It refuses what etcd refuses with --strict-reconfig-check: a second learner, the removal of a member without which the rest has
// no quorum, calls to a learner, a leader that another member names. As on real machines, a member outlives its machine.
//
// It does not know keys and values: those of a cluster are in kubeapi. A snapshot is a real database, with one key. The services are written out on the HTTP/2 server of the
// standard library: gRPC's would triple what the sandbox links. Names and numbers of fields are those of etcd's
// api/etcdserverpb/rpc.proto. Restore is "etcdutl snapshot restore". TestEtcdContract in package kubesim holds it and a real etcd to the same answers.
package etcd
