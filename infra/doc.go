// Package infra contains the infrastructure drivers: each subpackage creates the resources of VNFs on one kind of VIM
// and implements vnflcm.InfraDriver.
//
//	openstack   stacks of Heat, on a real OpenStack
//	kubernetes  Helm charts and manifests, on a real Kubernetes cluster
//	infratest   the tests of a driver
//	sandbox     machines that are SSH hosts inside the process: for first steps, and for tests of any driver
//
// Rules for an infrastructure driver:
//
//   - Plan changes nothing, finds every fault, and announces which VNFCs are added and removed.
//   - Resources must fit the plan: the Manager compares them after each method. See vnflcm.ElasticVDUs for pods.
//   - The other methods can be called again and then finish what is missing: they read the state of the VIM.
//   - A VNFC keeps its ID for life; its ResourceID changes with a heal. Host keys are stored under the ResourceID.
//   - Resources with the id of the instance as a mark, such as a tag or a label, are found without a record by a
//     vnflcm.MarkReader. A vnflcm.Inspector compares more than Resources shows with the record (Manager.Diagnose).
//   - A resource is recorded, by name or tag, before the driver waits for it; Terminate removes exactly the recorded ones.
//   - A step is on a VNFC of the VNF, on one whose ID Plan has announced, or on an ID that the driver declares (Operation.Declare).
package infra
