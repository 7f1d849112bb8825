// Package vnflcm runs the lifecycle of VNFs: it takes SOL003 requests and VNF packages and drives them through
// drivers that you choose or write.
//
// To run a VNF, compose a Manager, create an instance, instantiate it and wait:
//
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Store:    store,    // sqlite.Open(ctx, "state.db"), or store.NewMemory()
//		Key:      key,      // 32 bytes that seal what the store keeps
//		Packages: vnflcm.DirPackages("packages"), // a folder of VNF packages
//		Infra:    map[string]vnflcm.InfraDriver{"openstack": heat},        // by vimType
//		Mgmt:     map[string]vnflcm.MgmtDriver{"mgmt-drivers-k8s": kubeadm}, // by the name in the VNFD
//	})
//	defer manager.Close(context.Background())
//	instance, err := manager.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: vnfdID})
//	operation, err := manager.Instantiate(ctx, instance.ID, request)
//	occ, err := manager.Wait(ctx, operation)
//
// Scale, ScaleToLevel, Heal and Terminate work the same way. A request with faults is refused at once, with all of its faults
// (*ParamError) and before anything is touched. One operation at a time runs on an instance; a second one gets
// ErrConflict.
//
// # When it fails, or the process dies
//
// An operation that fails is in FAILED_TEMP and keeps its instance locked until Retry continues it, Rollback
// undoes it or Fail gives it up (SOL003 v2.6.1 5.6.2.2). Its ProblemDetails name the step, the host and the
// command. A process that dies leaves its operations as they are. Another Manager on the same Store continues them, in a process that
// runs already or in the next one of the same program. Finished steps are not repeated, because drivers journal them.
//
// # Writing a driver
//
// An InfraDriver makes machines and other resources on a VIM; a MgmtDriver turns them into an application, a cluster
// or a registry, in the hooks that a VNFD names. Both get an Operation as their only input. An action that must
// not happen twice is a step:
//
//	address, err := vnflcm.Run(ctx, op, vnflcm.Step[string]{
//		Name:  "init",
//		On:    master.ID,
//		Probe: func(ctx context.Context) (string, bool, error) { return answering(ctx, master) },
//		Do:    func(ctx context.Context) (string, error) { return setUp(ctx, master) },
//	})
//
// Run returns the journaled result if this operation did the step before, asks Probe whether the step is done
// already (a process may have died between the act and the journal), and runs Do otherwise. Each runs steps of
// many machines at once. Operation.State stores a driver's data between operations.
//
// # Interfaces
//
// A Config holds implementations of these interfaces. The optional ones of drivers are found by a type assertion.
//
//   - [InfraDriver] makes, changes and removes machines or pods on a VIM: infra/openstack, infra/kubernetes, infra/sandbox
//   - [Adopter] is an InfraDriver that reads resources of another program, for Manager.Adopt: infra/openstack, infra/kubernetes, infra/sandbox
//   - [GrantFollower] is a driver that follows zones, images or parameters of a grant
//   - [ElasticVDUs] is an InfraDriver with VDUs whose number of VNFCs others decide: infra/kubernetes
//   - [PackageChanger] is an InfraDriver that changes the package of a running VNF, for the operation CHANGE_VNFPKG
//   - [MgmtDriver] sets up the software on the machines, per lifecycle hook: mgmt/kubeadm, mgmt/kubespray, mgmt/loadbalancer/expose,
//     mgmt/registry, mgmt/script
//   - [Previewer] is a MgmtDriver that lists its tasks before it runs them, for Manager.Preview: mgmt/kubeadm, mgmt/kubespray
//   - [Maintainer] is a MgmtDriver with tasks that keep the VNF working, for Manager.Maintain: mgmt/kubeadm
//   - [Configurer] is a Maintainer with properties whose change by Manager.Modify starts a task: mgmt/kubeadm
//   - [PackageBatcher] is a MgmtDriver that prepares machines for the change of their package, and takes them back
//   - [HealthChecker] is a driver of either kind that reports whether the VNF works after a part of that change
//   - [CertificateReader] is a MgmtDriver that reads when certificates end, for Manager.Certificates and after operations: mgmt/kubeadm,
//     mgmt/kubespray
//   - [ServedCertificateReader] reads the same without a login, from TLS handshakes, once a day: mgmt/kubeadm, mgmt/kubespray
//   - [VIMRenewer] is a MgmtDriver that makes new credentials for a VIM that it has registered: mgmt/kubeadm, mgmt/kubespray
//   - [VIMChecker] is an InfraDriver that checks the login of a VIM that a client registers: infra/openstack, infra/kubernetes
//   - [store.Store] keeps sealed records with versions, and applies batches atomically: store.NewMemory, store/sqlite, store/postgres
//   - [Packages] opens VNF packages by VNFD id, once per content: DirPackages, PackagesFunc
//   - [VIMs] resolves a vimId to an address and credentials: a registry in the Store
//   - [Coordinator] runs coordination scripts while packages change: mgmt/script. It is optional
//   - [Granter] asks the NFVO for permission. It is optional: [GranterFunc] decides in the process
//
// # Secrets
//
// Credentials come in free-form attributes (additionalParams, accessInfo): Params and Secret print as *** in
// every format, and the Store gets only sealed data. Documents show the keys of free-form attributes and, of the values,
// those that drivers (PublicParams) or the composition (Config.PublicParams) declare to be public. Values that drivers
// declare as secret (SecretParams), values whose name denotes a secret, and the passwords of URLs are also masked in errors, events
// and logs; docs/secrets.md has the rules.
//
// # Configuration
//
// The Store (check your own with package storetest), the registry of VIMs, the Granter (the NFVO's permission),
// an Interceptor around every step (pausing, tracing), an observer of Events (progress), the logger.
package vnflcm
