package helmtest

import "testing"

// Run checks an implementation. open is called for each test, of which several run at once.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *suite){
		"install":                  testInstall,
		"upgrade and rollback":     testUpgrade,
		"changed by others":        testChangedByOthers,
		"reuse of values":          testReuse,
		"kept history":             testKeptHistory,
		"kept claims":              testKeptClaims,
		"list":                     testList,
		"namespace is made":        testNamespace,
		"dry run and template":     testDryRun,
		"version of Kubernetes":    testKubeVersion,
		"post-renderer":            testPostRender,
		"values":                   testValues,
		"same values":              testSameValues,
		"bad values":               testBadValues,
		"never ready":              testNeverReady,
		"atomic":                   testAtomic,
		"hooks":                    testHooks,
		"failing hook":             testFailingHook,
		"job":                      testJob,
		"subchart":                 testSubchart,
		"CRDs":                     testCRDs,
		"CRDs and post-renderer":   testPostRenderedCRDs,
		"busy and cancelled":       testCancel,
		"stale install":            testStaleInstall,
		"stale upgrade":            testStaleUpgrade,
		"uninstall of a stale one": testStaleUninstall,
		"nothing there":            testMissing,
		"bad names":                testBadNames,
		"bad charts":               testBadCharts,
		"repository":               testRepository,
		"unreachable repository":   testUnreachableRepository,
		"registry":                 testRegistry,
		"many at once":             testParallel,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, start(t, open))
		})
	}
}

// RunPair checks that two implementations work on the releases of each other: each reads, upgrades and uninstalls
// releases that the other has installed, and rolls back to revisions of the other. open returns both, for the same
// cluster. It is called for each direction; the two directions run concurrently.
func RunPair(t *testing.T, open func(t *testing.T) (first, second Subject)) {
	t.Helper()
	for _, turned := range []bool{false, true} {
		t.Run(map[bool]string{false: "first to second", true: "second to first"}[turned], func(t *testing.T) {
			t.Parallel()
			from, to := open(t)
			if turned {
				from, to = to, from
			}
			testPair(t, start(t, func(*testing.T) Subject { return from }), to.Client)
		})
	}
}
