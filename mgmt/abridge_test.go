package mgmt_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt"
)

func TestAbridged(t *testing.T) {
	t.Parallel()
	for given, want := range map[string]string{
		"":                             "",
		strings.Repeat("x", 100):       strings.Repeat("x", 100),
		strings.Repeat("x", 101):       strings.Repeat("x", 100) + "...",
		"x" + strings.Repeat("ä", 100): "x" + strings.Repeat("ä", 49) + "...", // no half letters
	} {
		if got := mgmt.Abridged(given); got != want {
			t.Errorf("%q became %q", given, got)
		}
	}
}
