// Package onboarding takes VNF packages at run time: a client creates a package, uploads its content or names a URI, and the package is
// checked. Instances can then be created from it. Clients of SOL003 and of OpenStack Tacker do this over HTTP; a program calls the same
// methods:
//
//	packages, err := onboarding.New("/var/lib/vnfm/onboarded", onboarding.Options{})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Packages: packages /* Store, Key, Infra, Mgmt */})
//	go packages.Run(ctx) // checks what was uploaded
//
//	info, err := packages.Create(ctx, "north", nil)
//	err = packages.Upload(ctx, "north", info.ID, file, size)
//	info, err = packages.Get(ctx, "north", info.ID) // PROCESSING, then ONBOARDED or ERROR
//
// # States
//
// A package is CREATED, UPLOADING, PROCESSING, and then ONBOARDED and ENABLED. Every failure leads to ERROR with OnboardingFailureDetails,
// which have all faults of the package, and the package can be uploaded again. Only an ENABLED package gets new instances. An instance
// keeps its package until the instance is deleted: a package with instances cannot be deleted, and disabling it stops no operation of an
// instance.
//
// # Files and processes
//
// The content is in files named after its SHA-256; packages with the same content share a file. The rest is in the Store of the Manager,
// sealed. Several processes, also on several machines, can share the folder and the Store. Each upload or check holds a lease of the
// Store (vnflcm.Manager.Exclusively). When a process dies, a process that calls Run makes an interrupted upload an ERROR after the
// LeaseTTL, begins an interrupted download again, and continues an interrupted check from the file. It also removes files that no
// package has. The package uses no locks of the file system, and compares no clocks.
//
// A folder on a network file system needs what NFS gives: a file that one machine has renamed and then announced in the Store can be
// opened on another one. A machine that reads a package whose deletion another machine has finished gets an error.
//
// # Tenants
//
// A package belongs to the tenant that creates it, and does not exist for other tenants. A package without tenant is shared: all tenants
// can use it, and only requests without tenant change it. One VNFD id may be another package for another tenant. The tenant's own package
// comes before the shared one.
package onboarding
