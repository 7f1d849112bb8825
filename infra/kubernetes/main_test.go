package kubernetes_test

import (
	"flag"
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// TestMain lets tests run beside each other: they wait for pods more than they compute.
func TestMain(m *testing.M) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		_ = f.Value.Set("12")
	}
	debug.SetGCPercent(400) // many small clusters, each soon garbage
	goleak.VerifyTestMain(m)
}
