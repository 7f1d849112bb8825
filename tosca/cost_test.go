package tosca_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/tosca"
)

// TestCostOfPackages opens packages with a descriptor of 435 KiB, which an earlier version opened with 242 MiB in 2.2 s. The test
// checks the allocated memory, which is the same on every machine. BenchmarkGrowth and BenchmarkHostile measure the time.
func TestCostOfPackages(t *testing.T) {
	const size, most = 435 << 10, 100 << 20
	vdus := withVDUs(1)
	each := (len(withVDUs(11)) - len(vdus)) / 10
	for name, text := range map[string]string{
		"many VDUs":      withVDUs(size / each),
		"flow sequence":  head + "  groups: {g: {members: [" + strings.Repeat("a,", size/2) + "]}}\n",
		"nodes":          head + repeated(size, "    n%d: {type: tosca.nodes.nfv.VduCp}\n"),
		"unknown types":  head + repeated(size, "    n%d: {type: t%[1]d}\n"),
		"types":          "node_types:\n" + repeated(size, "  t%d: {derived_from: t%[1]d}\n") + head,
		"chain of types": "node_types:\n  t0: {derived_from: tosca.nodes.nfv.VNF}\n" + repeated(size, "  t%d: {derived_from: t0}\n") + head,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		p, err := tosca.OpenFS(context.Background(), fstest.MapFS{"v.yaml": file(text)})
		runtime.ReadMemStats(&after)
		if err == nil {
			_ = p.Close()
		}
		got := after.TotalAlloc - before.TotalAlloc
		t.Logf("%s: %d KiB, %d MiB allocated, %.80v", name, len(text)>>10, got>>20, err)
		if got > most {
			t.Errorf("%s: %d MiB allocated, want at most %d", name, got>>20, most>>20)
		}
	}
}

// repeated returns numbered lines with a total of about size bytes.
func repeated(size int, format string) string {
	var b strings.Builder
	for i := 1; b.Len() < size; i++ {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}
