package helmcli_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// It is not parallel: what is measured is all that the process allocates.
func TestMemoryOfValues(t *testing.T) {
	lists := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "l%d[65536]=x,", i)
		}
		return out.String()
	}
	for name, c := range map[string]struct {
		text    string
		refused bool
		mib     uint64 // that may be allocated, lists that are thrown away included
	}{
		"would be 64 GiB":     {lists(1 << 16), true, 4},
		"would be very deep":  {"a" + strings.Repeat("[0]", 1<<20) + "=x", true, 16},
		"as much as there is": {lists(15), false, 256},
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := helmcli.Input(helmclient.Values{Set: []string{c.text}})
		runtime.ReadMemStats(&after)
		if _, refused := errors.AsType[*helmclient.SetError](err); refused != c.refused || (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
		if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > c.mib {
			t.Errorf("%s: %d MiB were allocated", name, mib)
		}
	}
}
