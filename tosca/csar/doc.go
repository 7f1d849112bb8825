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
// Nothing of a package is trusted: names that lead out of it, links, duplicates
// and members that become too large are refused before anything is read.
package csar
