package clustertest

import "testing"

// SkipVariant skips a test in short runs: make test runs another test of the same operation, and make test-full runs both.
func SkipVariant(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a variant of another test: make test-full runs it")
	}
}

// SkipsVariant reports whether a scenario is left out as SkipVariant would, and lists it as a skipped subtest. It is for tests that
// collect the cases of several scenarios before they run any.
func SkipsVariant(t *testing.T, scenario string) bool {
	t.Helper()
	return testing.Short() && t.Run(scenario, func(t *testing.T) { SkipVariant(t) })
}
