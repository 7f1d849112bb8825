package nfvo_test

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/internal/nfvotest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
)

// TestCreations creates instances concurrently while packages leave the cache. No creation may fail, and each has its package.
func TestCreations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 3 {
		w.put(t, fmt.Sprint("p", i), fmt.Sprint("vnfd", i))
	}
	m := w.start(t, func(s *settings) { s.options.MaxUnused = 1 })
	var creators sync.WaitGroup
	for i := range 3 {
		creators.Go(func() {
			for range 15 {
				instance, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: fmt.Sprint("vnfd", i)})
				if err == nil {
					err = m.Delete(t.Context(), instance.ID, "")
				}
				if err != nil {
					t.Errorf("vnfd%d: %v", i, err)
				}
			}
		})
	}
	creators.Wait()
}

// TestLeftSinceFound opens a package for a new instance that has left the cache since it was found.
func TestLeftSinceFound(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(t, "p", "vnfd")
	w.put(t, "q", "other")
	m := w.start(t, func(s *settings) { s.options.MaxUnused, s.options.Further = 1, vnflcm.DirPackages(t.TempDir()) })
	must(t, m.Delete(t.Context(), m.create(t, "vnfd").ID, ""))
	id, _, err := m.packages.Current(t.Context(), "", "vnfd")
	must(t, err)
	m.create(t, "other")
	list, err := m.packages.List(t.Context())
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("the package has not left the cache: %+v", list)
	}
	pkg, err := m.packages.OpenID(t.Context(), id, "")
	must(t, err)
	pkg.Close()
	_, err = m.packages.OpenID(t.Context(), "unknown", "")
	wantError(t, "an unknown package", err, vnflcm.ErrNotFound)
}

// TestOtherVNFD: the NFVO answers with another VNFD of a package than before. The instances of the package keep it in the cache.
func TestOtherVNFD(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.put(t, "p", "vnfd")
	w.put(t, "q", "large")
	m := w.start(t, func(s *settings) { s.options.MaxUnused = 1 })
	instance := m.create(t, "vnfd")
	m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, instance.ID) })
	w.put(t, "p", "other")
	if _, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "other"}); err == nil {
		t.Error("an instance was created from a package whose VNFD has changed")
	}
	m.create(t, "large")
	w.Close()
	m.heal(t, instance.ID)
}

// TestIDOfAnOnboardedPackage: the NFVO gives a package the id of an onboarded one. The instances of the onboarded package keep it.
func TestIDOfAnOnboardedPackage(t *testing.T) {
	t.Parallel()
	repository, err := onboarding.New(t.TempDir(), onboarding.Options{MinFree: 1})
	must(t, err)
	w := newWorld(t)
	m := w.start(t, func(s *settings) { s.options.Further = repository })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = repository.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	info, err := repository.Create(t.Context(), "", nil)
	must(t, err)
	content := csar(t, "vnfd", nil)
	must(t, repository.Upload(t.Context(), "", info.ID, bytes.NewReader(content), int64(len(content))))
	await(t, "the package is not onboarded", func() bool {
		info, err = repository.Get(t.Context(), "", info.ID)
		must(t, err)
		return info.OnboardingState == onboarding.Onboarded
	})
	instantiated, created := m.create(t, "vnfd"), m.create(t, "vnfd")
	m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, instantiated.ID) })

	w.Put(nfvotest.Package{ID: info.ID, VnfdID: "bait", Content: csar(t, "vnfd", filler)})
	if _, err := m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "bait"}); err == nil {
		t.Error("an instance was created from a package with another VNFD")
	}
	w.Close()
	m.heal(t, instantiated.ID)
	m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, created.ID) })
}
