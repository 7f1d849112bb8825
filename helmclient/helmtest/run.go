package helmtest

import "testing"

// Run checks an implementation. open is called for each test, of which several run at once.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, *suite){
		"install":                  testInstall,
		"upgrade and rollback":     testUpgrade,
		"reuse of values":          testReuse,
		"kept history":             testKeptHistory,
		"list":                     testList,
		"namespace is made":        testNamespace,
		"dry run and template":     testDryRun,
		"post-renderer":            testPostRender,
		"values":                   testValues,
		"bad values":               testBadValues,
		"never ready":              testNeverReady,
		"atomic":                   testAtomic,
		"hooks":                    testHooks,
		"failing hook":             testFailingHook,
		"job":                      testJob,
		"subchart":                 testSubchart,
		"CRDs":                     testCRDs,
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
