// Package tosca opens VNF packages and reads their descriptors.
//
// To run a VNF one needs to know what its package describes: which flavours it
// comes in, how many machines each has at which size, what they are connected to,
// and which management drivers are called when. Open a package, a CSAR as ETSI
// SOL004 v2.6.1 defines it or a directory with the same layout, and ask its VNFD
// (SOL001, in TOSCA Simple Profile 1.0 to 1.3):
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
// A Package is also an fs.FS, for the files drivers need: scripts, Heat
// templates, images. OpenFS takes a package from an embed.FS or any other file
// system.
//
// # What is trusted
//
// Packages are untrusted input. Names that lead out of the package, links, duplicates and members that
// become too large are refused before anything is parsed (see Limits); imports
// never leave the package and never touch the network; YAML that would take too much memory is
// refused before it is evaluated. Nothing is unpacked to disk, and files are
// read as streams, so that memory and time do not depend on the size of images
// until Digest or Verify is called.
//
// # What is read
//
// Descriptors of SOL001 v2.5.1 to v4.4.1, of virtual machines and of containers:
// VDUs of both kinds, their storages, images and connection points, MCIOPs with
// their Helm charts, virtual links, scaling aspects and instantiation levels,
// affinity rules, the configuration of LCM operations, what requests can set, and
// the hooks of the Vnflcm interface with their inputs. Types of a package that are
// derived from those of SOL001 count as these, and give their templates what they
// define.
//
// Imports lead into the package, or to the type definitions of SOL001, which are
// bundled: a package need not contain them, and may name them by file or by URL. A
// package that has its own copy is read with that. The whole descriptor is checked
// against the grammar of TOSCA and the types it uses.
//
// The expressions get_input, get_property, concat and token are evaluated, also
// within each other; the value of an input is its default. What only a request or
// a running system can give stays the text of the whole expression, for example
// "{get_input: vendor}", in texts, and counts as not given elsewhere.
//
// # What is refused
//
// A package is refused if it is ambiguous, contradictory or different from what its
// digests and signatures say. Real packages also deviate from TOSCA and
// SOL001 in ways that can be understood. Each of these ways has a name, a Quirk; a
// deviation is one of Package.Warnings, which names it, unless Strict or Allow say
// otherwise. Check reports all faults without keeping the package open. Manifests
// and signatures are checked by package csar; WithIntegrity sets the policy.
//
// # How large a VNF is
//
// Flavour.InitialSize counts the VNFCs that an instantiation makes. The numbers an
// instantiation level gives for a VDU (VduInstantiationLevels) override
// the numbers from its scale levels. From there, Flavour.Scale adds or removes the
// delta of each step, and Flavour.ScaleToLevel finds the scalings that lead to a
// level. Flavour.SizeAt finds the same numbers again from the scaleStatus of an
// instance and its target at instantiation. Requests that the descriptor does not
// allow give a *RequestError for each of their faults, in the names of SOL003.
package tosca
