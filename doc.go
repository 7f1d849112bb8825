// Package vnfkit is a Go SDK from which a program composes its own VNFM (ETSI NFV VNF manager), or takes
// single parts of one. It holds no code; this is the map. Start from what you want to do:
//
//   - Run commands on many machines over SSH, put files there: [github.com/vnfkit/vnfkit/sshexec].
//   - Test what works over SSH, without machines: [github.com/vnfkit/vnfkit/sshexec/sshtest].
//   - Read a VNF package (CSAR) and its descriptor: [github.com/vnfkit/vnfkit/tosca]. Only its files, manifest and
//     signatures, of whatever it describes: [github.com/vnfkit/vnfkit/tosca/csar]. What was wrong with it:
//     [github.com/vnfkit/vnfkit/tosca/problem].
//   - Run the lifecycle of VNF instances (instantiate, scale, heal, terminate) in a way that survives crashes:
//     [github.com/vnfkit/vnfkit/vnflcm]. Serve it to an NFVO over HTTP (SOL003, versions 1 and 2):
//     [github.com/vnfkit/vnfkit/vnflcm/sol003]; to clients with OAuth 2.0 tokens:
//     [github.com/vnfkit/vnfkit/vnflcm/sol003/bearer]; to clients with tokens of OpenStack:
//     [github.com/vnfkit/vnfkit/vnflcm/sol003/keystone]; with subscriptions and notifications:
//     [github.com/vnfkit/vnfkit/vnflcm/sol003/notify]. Ask that NFVO for grants and VNF packages:
//     [github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo]. Decide which addresses of requests it connects to:
//     [github.com/vnfkit/vnfkit/vnflcm/outbound].
//   - Let clients upload VNF packages while it runs: [github.com/vnfkit/vnfkit/vnflcm/onboarding].
//   - Keep snapshots of VNFs, encrypted: [github.com/vnfkit/vnfkit/vnflcm/snapshots].
//   - Use a management driver from a VNFM of your own, such as Tacker: [github.com/vnfkit/vnfkit/vnflcm/hookrun].
//   - Keep its state in a file: [github.com/vnfkit/vnfkit/vnflcm/store/sqlite]; in a PostgreSQL that several machines
//     share: [github.com/vnfkit/vnfkit/vnflcm/store/postgres]; in a store that you write:
//     [github.com/vnfkit/vnfkit/vnflcm/store] has the interface, and [github.com/vnfkit/vnfkit/vnflcm/store/storetest] checks it. Check that a driver that you write survives the death of
//     its process: [github.com/vnfkit/vnfkit/vnflcm/crashtest].
//   - Have Temporal give operations to processes on several machines and sites: [github.com/vnfkit/vnfkit/vnflcm/temporal].
//   - See what an operation did on which machine, and what it waited for: [github.com/vnfkit/vnfkit/vnflcm/timeline]. Show it on a
//     terminal while it happens: [github.com/vnfkit/vnfkit/vnflcm/progress]. Traces and
//     metrics of operations in OpenTelemetry: [github.com/vnfkit/vnfkit/vnflcm/telemetry]; of commands over SSH:
//     [github.com/vnfkit/vnfkit/sshexec/sshotel].
//   - Make a Kubernetes cluster out of the machines of a VNF: [github.com/vnfkit/vnfkit/mgmt/kubeadm]. Whether its
//     etcd can do without a member: [github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd].
//   - Have kubespray make that cluster, on an Ansible server of yours: [github.com/vnfkit/vnfkit/mgmt/kubespray].
//     Write its inventories: [github.com/vnfkit/vnfkit/mgmt/kubespray/inventory]; run any playbook and
//     read its output as events: [github.com/vnfkit/vnfkit/mgmt/kubespray/ansible].
//   - Put a load balancer in front of a cluster: [github.com/vnfkit/vnfkit/mgmt/loadbalancer]; lead clients to the
//     services of CNFs there: [github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose].
//   - Write a management driver of your own: [github.com/vnfkit/vnfkit/mgmt] and the interface
//     MgmtDriver of package vnflcm; files, packages, units and volumes of machines:
//     [github.com/vnfkit/vnfkit/mgmt/linux]; on a running cluster also [github.com/vnfkit/vnfkit/mgmt/cluster]. Test it
//     without machines: [github.com/vnfkit/vnfkit/mgmt/mgmttest].
//   - Make a private container registry out of the machine of a VNF: [github.com/vnfkit/vnfkit/mgmt/registry].
//     Connect machines to such registries, and to others: [github.com/vnfkit/vnfkit/mgmt/registry/client].
//   - Run the management driver scripts of a package that was made for Tacker: [github.com/vnfkit/vnfkit/mgmt/script].
//   - Run VNFs on OpenStack, as stacks of Heat: [github.com/vnfkit/vnfkit/infra/openstack]; look into the Heat
//     templates of a package: [github.com/vnfkit/vnfkit/infra/openstack/hot].
//   - Make CNFs from Helm charts or manifests on a Kubernetes cluster: [github.com/vnfkit/vnfkit/infra/kubernetes].
//   - Use Helm from a program: [github.com/vnfkit/vnfkit/helmclient], in the process
//     (Helm 3: [github.com/vnfkit/vnfkit/helmclient/helmsdk], Helm 4:
//     [github.com/vnfkit/vnfkit/helmclient/helm4sdk]) or by the helm program elsewhere
//     ([github.com/vnfkit/vnfkit/helmclient/helmcli]); check an implementation of your own with
//     [github.com/vnfkit/vnfkit/helmclient/helmtest]. Say what keeps Kubernetes objects from being ready:
//     [github.com/vnfkit/vnfkit/helmclient/readiness]. Test programs that use Helm, CNFs or client-go without a cluster:
//     [github.com/vnfkit/vnfkit/infra/kubernetes/kubetest].
//   - Write a driver for a VIM: [github.com/vnfkit/vnfkit/infra] says what it owes its caller, and
//     [github.com/vnfkit/vnfkit/infra/infratest] checks it.
//   - Try all of it, or test a driver, without a cloud and without root:
//     [github.com/vnfkit/vnfkit/infra/sandbox].
//
// The example below composes a Manager on the sandbox and makes a cluster. To watch a whole lifecycle, with a
// crash in the middle, clone the repository and run
//
//	go run ./examples/quickstart
//
// Beside leaves such as internal/mask, tosca, sshexec and helmclient import nothing of this module but their own subpackages,
// and vnflcm imports only tosca; none of these links an SDK of a cloud. A driver needs vnflcm: a Manager calls it, or hookrun in a program that has the
// lifecycle itself.
package vnfkit
