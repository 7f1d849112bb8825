// Package kubesim simulates, on sshtest hosts, what a cluster driver meets on real machines: kubeadm,
// kubectl, systemctl, apt-get and their kin, and the clusters they make. The API of such a cluster is served over TLS
// (port 6443 of its control-plane nodes, 16443 behind haproxy), as far as drivers need it: discovery, server-side
// apply and merge patches, nodes, pods and their eviction, disruption budgets, service accounts and their tokens.
//
// It is there to catch wrong orders, arguments and credentials, not to be a Kubernetes. So it is small and
// strict: a wrong or expired token, a wrong CA hash, a second init, a join on a machine that was not
// prepared or not reset, two control-plane joins at once, a lost etcd quorum or an unknown flag fail here as
// they fail on real machines.
//
// A World holds all machines and clusters; it can be saved as JSON and restored. What a command changes on
// its machine is in the machine's files; what survives in nobody's files (tokens, nodes, etcd members) is in
// the World.
package kubesim
