package clustertest

import "testing"

// SkipVariant skips a test in short runs: make test runs another test of the same operation, and make test-full runs both.
func SkipVariant(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("a variant of another test: make test-full runs it")
	}
}
