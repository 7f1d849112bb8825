// Package csar opens VNF packages, which are archives (ETSI SOL004) or directories with the same layout. It provides their files as an
// fs.FS.
//
//	a, err := csar.Open(ctx, "vnf.csar", csar.Options{})
//	if err != nil {
//		return err // a problem.List: every fault of the package
//	}
//	defer a.Close()
//	image, err := a.Open("Files/images/system.img")
//
// A package states digests in TOSCA.meta and in the manifest, and may have signatures over the manifest, over single files, or over the
// whole CSAR in a zip (SOL004 clause 5). Open checks the signature of the manifest. Verify and Digest read the whole package once and
// check the rest. Integrity sets whether a fault refuses the package or is a warning:
//
//	a, err := csar.Open(ctx, "vnf.zip", csar.Options{
//		Integrity: csar.Integrity{Policy: csar.Require, Roots: vendors},
//	})
//
// Members are streams, so memory does not depend on their size, and nothing is unpacked to disk. A CSAR that is compressed in a zip has no
// random access. It is decompressed again as far as needed, with a cache of about 4 MiB, and is refused if this takes more than 32 times
// the work of reading it once.
//
// Packages are untrusted input: names that lead out of the package, links, duplicates and too large members are refused before any
// member is read.
package csar
