package onboarding_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// TestOperations runs the operations of an instance while its package is DISABLED, and while its tenant has another package with its VNFD.
func TestOperations(t *testing.T) {
	t.Parallel()
	db := store.NewMemory()
	r, err := onboarding.New(t.TempDir(), onboarding.Options{MinFree: 1})
	must(t, err)
	cfg := fleettest.Config(t.TempDir(), db, "first")
	cfg.Packages, cfg.LeaseTTL = r, 0
	m, err := vnflcm.New(t.Context(), cfg)
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = r.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		ending, done := context.WithTimeout(context.Background(), patience)
		defer done()
		must(t, m.Close(ending))
	})
	p := &process{Repository: r, manager: m}

	shared := p.onboard(t, "", csar(t, "life", nil))
	instance, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "life", Tenant: "north"})
	must(t, err)
	own := p.onboard(t, "north", csar(t, "life", map[string]string{"of": "north"}))
	_, err = p.Update(t.Context(), "", shared.ID, onboarding.Modification{OperationalState: onboarding.Disabled})
	must(t, err)

	p.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m, instance.ID) })
	p.run(t, func() (string, error) { return m.Heal(t.Context(), instance.ID, vnflcm.HealVnfRequest{}) })
	for id, want := range map[string]onboarding.UsageState{shared.ID: onboarding.InUse, own.ID: onboarding.NotInUse} {
		if info, err := p.Get(t.Context(), "", id); err != nil || info.UsageState != want {
			t.Errorf("package %s: %+v, %v, want %s", id, info, err, want)
		}
	}
	wantError(t, "delete the package of an instance", p.Delete(t.Context(), "", shared.ID), vnflcm.ErrState)
	p.run(t, func() (string, error) {
		return m.Terminate(t.Context(), instance.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	})
	wantError(t, "delete the package of a terminated instance", p.Delete(t.Context(), "", shared.ID), vnflcm.ErrState)
	must(t, m.Delete(t.Context(), instance.ID, ""))
	must(t, p.Delete(t.Context(), "", shared.ID))
}

// run waits for an operation, which must succeed.
func (p *process) run(t *testing.T, begin func() (string, error)) {
	t.Helper()
	id, err := begin()
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	occ, err := p.manager.Wait(ctx, id)
	must(t, err)
	if occ.OperationState != vnflcm.Completed {
		t.Fatalf("%s is %s: %+v", occ.Operation, occ.OperationState, occ.Error)
	}
}

// TestCreations creates instances concurrently while the data of their package change. No creation may fail.
func TestCreations(t *testing.T) {
	t.Parallel()
	onStores(t, func(t *testing.T, s site) {
		p := s.start(t, nil)
		info := p.onboard(t, "", csar(t, "creations", nil))
		var creators, updater sync.WaitGroup
		for range 4 {
			creators.Go(func() {
				for range 10 {
					if _, err := p.manager.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "creations"}); err != nil {
						t.Errorf("create: %v", err)
					}
				}
			})
		}
		done := make(chan struct{})
		updater.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				case <-time.After(time.Millisecond):
				}
				data := vnflcm.KeyValuePairs{"n": fmt.Sprint(i)}
				if _, err := p.Update(t.Context(), "", info.ID, onboarding.Modification{UserDefinedData: data}); err != nil && !errors.Is(err, vnflcm.ErrConflict) {
					t.Errorf("update: %v", err)
				}
			}
		})
		creators.Wait()
		close(done)
		updater.Wait()
	})
}
