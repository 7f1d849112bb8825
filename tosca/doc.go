// Package tosca opens VNF packages and reads their descriptors.
//
// To run a VNF one needs to know what its package describes: which flavours it
// comes in, how many machines each has at which size, what they are connected to,
// and which management drivers are called when. Open a package, a CSAR as ETSI
// SOL004 v2.6.1 defines it or a directory with the same layout, and ask its VNFD
// (SOL001 v2.6.1, in TOSCA Simple Profile 1.0 to 1.3):
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
// Flavour.Scale tells what a scaling makes of that, and refuses what the
// descriptor does not allow.
//
// A Package is also an fs.FS, for the files drivers need: scripts, Heat
// templates, images. OpenFS takes a package from an embed.FS or any other file
// system.
//
// # What is trusted
//
// Nothing. Names that lead out of the package, links, duplicates and members that
// become too large are refused before anything is parsed (see Limits); imports
// never leave the package and never touch the network; YAML that explodes is
// found before it is walked through. Nothing is unpacked to disk, and files are
// read as streams, so that memory and time do not depend on the size of images
// until Digest or Verify is called.
//
// # What is read
//
// The types of SOL001 are known by name, so that packages need not contain the
// ETSI type files; types derived from them are followed. The value of an input is
// its default. What only a request can give stays the text of the expression,
// such as "{get_input: vendor}", in texts, and counts as not given elsewhere.
//
// Faults that make a VNFD ambiguous or contradictory refuse the package. Those
// that real packages have and that a VNFM can live with are Package.Warnings; the
// constants Code... tell which is which. Signatures and manifests are not read
// yet.
package tosca
