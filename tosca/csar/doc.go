// Package csar opens VNF packages: archives as ETSI SOL004 defines them, or
// directories with the same layout, and gives their files as an fs.FS.
//
//	a, err := csar.Open(ctx, "vnf.csar", csar.Options{})
//	if err != nil {
//		return err // a problem.List: every fault of the package
//	}
//	defer a.Close()
//	image, err := a.Open("Files/images/system.img")
//
// The package is checked against its own statements: the digests of TOSCA.meta and of the
// manifest, and signatures over the manifest, over single files, or over the whole
// CSAR in a zip (SOL004 clause 5). Open checks the signature of the manifest;
// Verify, or Digest, reads everything once and checks the rest. Integrity sets
// whether a fault refuses the package or is a warning:
//
//	a, err := csar.Open(ctx, "vnf.zip", csar.Options{
//		Integrity: csar.Integrity{Policy: csar.Require, Roots: vendors},
//	})
//
// Members are streams: memory does not depend on their size, and nothing is ever
// unpacked to disk. A CSAR that lies compressed in a zip has no random access; it
// is decompressed again as far as needed, with about 4 MiB of it cached, and
// is refused if that takes more than 32 times the work of reading it once.
//
// Packages are untrusted input: names that lead out of the package, links, duplicates
// and members that become too large are refused before anything is read.
package csar
