package infratest

import (
	"testing"
)

// checks are the tests of Run.
var checks = []struct {
	name  string
	check func(testing.TB, Setup)
}{
	{"life", life}, {"repetition", repetition}, {"death", death}, {"cancelled", cancelled}, {"interrupted", interrupted}, {"panic in a step", panicInStep},
}

// Run runs the tests:
//
//   - life: two VNFs are instantiated and scaled out side by side; one is healed, scaled in, connected to other links and terminated, then
//     the other is terminated.
//   - repetition: each method runs twice, the second time without the journal of the first, and changes nothing then.
//   - death: the process dies before and after each step, with and without its journal, and before each change of the VIM. The next process
//     must reach the end of an undisturbed run.
//   - cancelled: a method whose context has ended returns the cause or context.Canceled, and changes nothing.
//   - interrupted: an operation whose context ends at its first or last change ends within a minute, and a retry completes it.
//   - panic in a step: the operation fails with this error, and a retry completes it.
//
// After each operation the machines on the VIM are compared with the answers of the driver.
func Run(t *testing.T, s Setup) {
	t.Helper()
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.check(t, s)
		})
	}
}

// sub runs a part of a test, as a parallel subtest if t can have any.
func sub(t testing.TB, name string, part func(testing.TB)) {
	t.Helper()
	if t, can := t.(*testing.T); can {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(t)
		})
		return
	}
	part(t)
}
