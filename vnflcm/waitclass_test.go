package vnflcm_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestWaitClasses checks the classes of waits and of a failed step, and since when a step waits.
func TestWaitClasses(t *testing.T) {
	t.Parallel()
	inBubble(t, func(t *testing.T) {
		var mu sync.Mutex
		var told []string
		began, grantable := time.Now(), make(chan struct{})
		x := newToys(t, func(cfg *vnflcm.Config) {
			cfg.Granter = granter(func(context.Context, vnflcm.GrantRequest) (*vnflcm.Grant, error) {
				<-grantable
				return &vnflcm.Grant{ID: "g"}, nil
			})
			cfg.Observe = func(e vnflcm.Event) {
				mu.Lock()
				defer mu.Unlock()
				switch e.Kind {
				case vnflcm.StepWaiting:
					told = append(told, fmt.Sprintf("%s: %s since %v", e.Message, e.Class, e.Since.Sub(began).Round(time.Second)))
				case vnflcm.StepFailed:
					told = append(told, fmt.Sprintf("%s: %s", e.Message, e.Class))
				}
			}
		})
		x.world.after = func(ctx context.Context, at string) error {
			if at != "instantiate_end/init/" {
				return nil
			}
			wait := retry.BeginAs(ctx, retry.Lock, "apt")
			wait.Failed(errors.New("busy"))
			time.Sleep(5 * time.Second) // reported after 4 s
			wait.Failed(retry.NewError(retry.HostUnreachable, "no route"))
			time.Sleep(8 * time.Second) // after 12 s
			wait.Answered()
			time.Sleep(16 * time.Second) // after 28 s
			wait.End()
			return fmt.Errorf("server: %w", retry.NewError(retry.HostCredentials, "refused"))
		}
		opID, err := x.Instantiate(t.Context(), x.create(), vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
		must(t, err)
		time.Sleep(5 * time.Second)
		close(grantable)
		x.wait(opID, nil, vnflcm.FailedTemp)
		closeManager(t, x.Manager)
		want := []string{"waiting for the grant: no result yet: grant since 0s", "waiting for apt: busy: lock since 5s", "waiting for apt: no route: host-unreachable since 5s",
			"waiting for apt: no result yet: lock since 5s", "server: refused: host-credentials"}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Error(diff)
		}
	})
}
