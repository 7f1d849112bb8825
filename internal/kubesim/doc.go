// Package kubesim simulates, on sshtest hosts, the machines that a cluster driver meets: their packages and services, disks and ports,
// and the clusters that kubeadm makes of them. The parts below it simulate one thing each and know no machines:
//
//   - kubeapi, kubectl, helm: the API of a Kubernetes cluster with its controllers, scheduler and kubelets; the programs kubectl and Helm
//   - kubeadm, kubeadmconf: kubeadm; its arguments and configuration files
//   - etcd, pki: members of etcd; certificates
//   - docker, dockercli, containerd: images and containers of Docker Engine with the container registry; its client; the programs and files of
//     containerd
//   - pull: how runtimes reach a registry
//   - balancer: programs and files of haproxy and keepalived
//   - kubespray: ansible-playbook with the playbooks of kubespray, which reach the machines over SSH
//   - program: what programs have in common: arguments, files, exit codes
//
// The comment of each part says what the part refuses and what it does not know. The machines are connected within the process, by memconn.
// Tests whose name ends in Contract ask the simulation and, in make e2e-helm, e2e-registry and e2e-kubeadm, the real part the same questions.
//
// kubeapi serves the API of a cluster, over TLS at port 6443 of its control-plane nodes and wherever haproxy leads to it. A container of
// the registry image serves the registry API at the port that is published, from the files of its machine, to clients and to the
// runtimes of other machines.
//
// haproxy serves what it had read when it was last started or reloaded, by what is alive then. The node ports of Services
// answer with the name of a ready pod.
//
// It is there to catch wrong orders, arguments and credentials, not to be a Kubernetes. So it is small and
// strict: a wrong or expired token, a wrong CA hash, a second init, a join on a machine that was not
// prepared or not reset, two control-plane joins at once, a lost etcd quorum or an unknown flag fail here as
// they fail on real machines.
//
// etcd can be restored on the machines of its members, by etcdutl from its image. The first member that starts with restored data makes these the
// data of the cluster. Members with the data from before do not run then, and kubelets end no pods until they are restarted. A machine with a member
// that is not restored must be off by then (PodsRunTwice).
//
// A World holds all machines and clusters; it can be saved as JSON and restored. What a command changes on
// its machine is in the machine's files; state that is in no file (tokens, nodes, etcd members) is in
// the World.
package kubesim
