package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// warner warns in every call and fails the first termination.
type warner struct {
	idle
	failed *atomic.Bool
}

func (warner) Heal(ctx context.Context, op *vnflcm.Operation) error {
	for i := range 200 {
		op.Warn(ctx, fmt.Sprint("warning ", i))
	}
	return nil
}

func (w warner) Terminate(ctx context.Context, op *vnflcm.Operation) error {
	op.Warn(ctx, "left: volume 1")
	if w.failed.Swap(true) {
		op.Warn(ctx, "left: volume 2")
		return nil
	}
	return errors.New("mine")
}

// TestWarnings checks that the document of an operation has each warning of its drivers once, also after a failure.
func TestWarnings(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(c *vnflcm.Config) {
		c.Packages, c.Mgmt = toyPackage("vnflcm_noop"), map[string]vnflcm.MgmtDriver{"vnflcm_noop": vnflcm.NoopDriver{}}
		c.Infra = map[string]vnflcm.InfraDriver{"toy": warner{failed: &atomic.Bool{}}}
	})
	id := x.instantiated("plain")
	opID, err := x.Heal(t.Context(), id, vnflcm.HealVnfRequest{})
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	if len(occ.Warnings) != 100 {
		t.Errorf("%d warnings", len(occ.Warnings))
	}
	opID, err = x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	occ, _ = x.wait(opID, err, vnflcm.FailedTemp)
	if diff := cmp.Diff([]string{"left: volume 1"}, occ.Warnings); diff != "" {
		t.Error(diff)
	}
	occ, _ = x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	if diff := cmp.Diff([]string{"left: volume 1", "left: volume 2"}, occ.Warnings); diff != "" {
		t.Error(diff)
	}
}
