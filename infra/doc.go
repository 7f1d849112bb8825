// Package infra is the place of the infrastructure drivers: each subpackage creates the resources of VNFs
// on one kind of VIM and implements vnflcm.InfraDriver.
//
//	openstack   stacks of Heat, on a real OpenStack
//	kubernetes  Helm charts and manifests, on a real Kubernetes cluster
//	sandbox     machines that are SSH hosts inside the process: for trying out, and for tests of any driver
//
// What such a driver owes its caller:
//
//   - Plan touches nothing, finds every fault, and announces which VNFCs come and go.
//   - The other methods finish what is missing when they are called again: they read the VIM, not a memory.
//   - A VNFC keeps its ID for life; ResourceID is another one after a heal. Host keys are kept under it.
//   - What is made is recorded, by name or tag, before it is waited for; Terminate removes all of that, and
//     nothing else.
package infra
