package nfvo_test

import (
	"bytes"
	"context"
	"errors"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/vnfkit/vnfkit/internal/fleettest"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/onboarding"
	"github.com/vnfkit/vnfkit/vnflcm/outbound"
	"github.com/vnfkit/vnfkit/vnflcm/sol003"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/nfvo"
	"github.com/vnfkit/vnfkit/vnflcm/sol003/notify"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// ownServer serves the package management API of package sol003, with onboarding and notifications.
func ownServer(t *testing.T) (*onboarding.Repository, string) {
	t.Helper()
	repository, err := onboarding.New(t.TempDir(), onboarding.Options{MinFree: 1})
	must(t, err)
	m, err := vnflcm.New(t.Context(), vnflcm.Config{Store: store.NewMemory(), Key: bytes.Repeat([]byte{7}, 32), Packages: repository})
	must(t, err)
	notifier := notify.New(m, notify.Options{Allow: outbound.AllowAny})
	handler, err := sol003.NewHandler(m, sol003.Options{InsecureAllowAnyone: true, Subscriptions: notifier, Packages: repository})
	must(t, err)
	server := httptest.NewServer(handler)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = repository.Run(ctx) })
	running.Go(func() { _ = notifier.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		server.Close()
		must(t, m.Close(context.WithoutCancel(ctx)))
	})
	return repository, server.URL
}

// TestOwnServer gets packages and notifications from the API that package sol003 serves, in both versions.
func TestOwnServer(t *testing.T) {
	t.Parallel()
	for _, version := range []nfvo.SOL003{nfvo.V261, nfvo.V331} {
		t.Run(string(version), func(t *testing.T) {
			t.Parallel()
			repository, url := ownServer(t)
			info, err := repository.Create(t.Context(), "", nil)
			must(t, err)
			content := csar(t, "vnfd", filler)
			must(t, repository.Upload(t.Context(), "", info.ID, bytes.NewReader(content), int64(len(content))))
			await(t, "the package is not onboarded", func() bool {
				info, err = repository.Get(t.Context(), "", info.ID)
				must(t, err)
				return info.OnboardingState == onboarding.Onboarded
			})

			w := &world{Packages: nil, dir: t.TempDir(), store: store.NewMemory()}
			at := newCallback(t)
			c, err := nfvo.New(nfvo.Config{URL: url, SOL003: version})
			must(t, err)
			t.Cleanup(c.Close)
			m := w.startWith(t, c, nfvo.PackageOptions{MinFree: 1, Callback: at.URL}, 0)
			at.setHandler(m.packages)
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = m.packages.Run(ctx) })
			t.Cleanup(func() { cancel(); running.Wait() })
			await(t, "the API has not tested the callback URI", func() bool { return at.lastPassword() != "" })

			instance := m.create(t, "vnfd")
			if instance.VnfPkgID != info.ID {
				t.Errorf("the package of the instance is %q, want %q", instance.VnfPkgID, info.ID)
			}
			m.run(t, func() (string, error) { return fleettest.Instantiate(t.Context(), m.Manager, instance.ID) })
			await(t, "no notification of the disabled package has arrived", func() bool { // the subscription may begin after a change
				for _, state := range []onboarding.OperationalState{onboarding.Disabled, onboarding.Enabled, onboarding.Disabled} {
					_, err := repository.Update(t.Context(), "", info.ID, onboarding.Modification{OperationalState: state})
					if err != nil && !errors.Is(err, vnflcm.ErrConflict) {
						t.Fatal(err)
					}
				}
				list, err := m.packages.List(t.Context())
				must(t, err)
				return len(list) == 1 && list[0].State == nfvo.Disabled
			})
			_, err = m.Create(t.Context(), vnflcm.CreateVnfRequest{VnfdID: "vnfd"})
			wantError(t, "create", err, vnflcm.ErrNoPackage)
			m.heal(t, instance.ID)
		})
	}
}
