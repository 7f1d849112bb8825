package clustertest

import (
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

// Lab is a lab whose VNFs are clusters.
type Lab struct {
	*mgmttest.Lab
	t testing.TB
}

// Open opens a lab, which ends with the test.
func Open(t testing.TB, s mgmttest.Setup) *Lab {
	t.Helper()
	return &Lab{mgmttest.Open(t, s), t}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
