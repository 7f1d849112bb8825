// Package tosca opens VNF packages and reads their descriptors.
//
// A package is a CSAR (ETSI SOL004 v2.6.1) or a directory with the same layout. Its VNFD (SOL001, in TOSCA Simple Profile 1.0 to
// 1.3) describes the flavours of the VNF, the machines of each flavour in each size, their networks, and the management drivers
// that a VNFM calls:
//
//	p, err := tosca.Open(ctx, "k8s-cluster.csar")
//	if err != nil {
//		return err // problem.List: every fault with file, line and column
//	}
//	defer p.Close()
//	flavour, err := p.VNFD().Flavour("simple")
//	size, err := flavour.InitialSize(tosca.TargetSize{InstantiationLevelID: "large"})
//	fmt.Println(size.Instances) // VNFCs by VDU
//
// A Package is also an fs.FS, so that drivers can read scripts, Heat templates and images. OpenFS opens a package in an embed.FS or
// any other file system.
//
// # Untrusted packages
//
// Packages are untrusted input. Open refuses names that lead out of the package, links, duplicates and too large members before it
// parses a file (see Limits), and YAML that would take too much memory before it evaluates expressions. Imports never leave the
// package and never access the network. Nothing is unpacked to disk, and files are read as streams, so the memory and time of Open
// do not depend on the size of images. Digest and Verify read the whole package.
//
// # Supported descriptors
//
// Descriptors of SOL001 v2.5.1 to v4.4.1, of virtual machines and of containers:
// VDUs of both kinds, their storages, images and connection points, MCIOPs with
// their Helm charts, virtual links, scaling aspects and instantiation levels,
// affinity rules, the configuration of LCM operations, the attributes that requests can set, and the hooks of the Vnflcm interface
// with their inputs. A package may derive types from those of SOL001; templates inherit the definitions of their types.
//
// Flavour has typed fields for what a VNFM uses. Flavour.Nodes, Policies and Groups have all templates of the flavour, with their
// types, evaluated properties, requirements, targets and triggers, also of types that SOL001 does not define. VNFD.Changes has the
// policies for a change of the package, and Flavour.CheckParameters compares the additionalParams of a request with the declarations of
// the descriptor.
//
// Imports refer to files of the package or to the type definitions of SOL001. These are bundled, so a package need not contain
// them, and may import them by file name or URL. If a package contains a copy, the copy is used. The whole descriptor is checked
// against the grammar of TOSCA and the types that it uses.
//
// The expressions get_input, get_property, concat and token are evaluated, also when nested. The value of an input is its default.
// An expression that only a request or a running system can resolve stays in texts as it is, for example "{get_input: vendor}". For
// other types its value counts as absent.
//
// # Refused packages
//
// A package is refused if it is ambiguous, contradicts itself, or differs from its digests and signatures. Real packages also
// deviate from TOSCA and SOL001 in known ways. Each of these deviations has a name, a Quirk, and is one of Package.Warnings unless
// Strict or Allow change this. Check reports all faults and closes the package. Package csar checks manifests and signatures;
// WithIntegrity sets the policy.
//
// # Sizes
//
// Flavour.InitialSize counts the VNFCs of a new instance. The numbers of an instantiation level for a VDU (VduInstantiationLevels)
// override the numbers that result from its scale levels. Flavour.Scale adds or removes the delta of each step, and
// Flavour.ScaleToLevel returns the scalings that lead to a level. Flavour.SizeAt computes the current numbers from the scaleStatus
// of an instance and its target at instantiation. A request that the descriptor does not allow leads to a *RequestError for each
// fault, with the attribute names of SOL003.
package tosca
