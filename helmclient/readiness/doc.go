// Package readiness says which objects of a release or of manifests are ready, and why the others are not.
//
//	progress := readiness.Of(objects, related) // 3 of 5 ready
//	for _, o := range progress.Waiting {
//		fmt.Println(o) // Deployment web, 2 of 3 pods are ready, pod web-7d9: ImagePullBackOff: ...
//	}
//
// It looks at objects that somebody else has read, and reaches no cluster. The rules are those of kstatus, which kubectl
// and Helm follow too (github.com/kubernetes-sigs/cli-utils, pkg/kstatus).
package readiness
