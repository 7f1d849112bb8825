// Package fulltest selects between a sample of a large test and the whole test. The variable VNFKIT_FULL selects the whole.
package fulltest

import (
	"os"
	"testing"
)

// Enabled reports whether VNFKIT_FULL is set: matrices run all of their cases, and variants of other tests run too.
func Enabled() bool { return os.Getenv("VNFKIT_FULL") != "" }

// Only skips a test with a reason unless Enabled.
func Only(t testing.TB, reason string) {
	t.Helper()
	if !Enabled() {
		t.Skip(reason + ": runs with VNFKIT_FULL=1")
	}
}

// SkipVariant skips a test of behaviour that another test covers, unless Enabled.
func SkipVariant(t testing.TB) {
	t.Helper()
	Only(t, "a variant of another test")
}

// SkipsVariant reports whether a scenario is left out, as SkipVariant would leave it out, and lists it as a skipped subtest. It is for
// tests that collect the cases of several scenarios before they run any.
func SkipsVariant(t *testing.T, scenario string) bool {
	t.Helper()
	return !Enabled() && t.Run(scenario, func(t *testing.T) { SkipVariant(t) })
}
