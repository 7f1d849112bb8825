// Package readiness says which objects of a release or of manifests are ready, and why each other object is not.
//
//	progress := readiness.Of(objects, related) // 3 of 5 ready
//	for _, o := range progress.Waiting {
//		fmt.Println(o) // Deployment web, 2 of 3 pods are ready, pod web-7d9: ImagePullBackOff: ...
//	}
//
// The caller reads the objects; the package does not access a cluster. The rules are those of kstatus, which kubectl
// and Helm follow too (github.com/kubernetes-sigs/cli-utils, pkg/kstatus).
package readiness
