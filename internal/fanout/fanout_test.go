package fanout_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/vnfkit/vnfkit/internal/fanout"
)

func TestEach(t *testing.T) {
	var running, most atomic.Int64
	err := fanout.Each(t.Context(), 50, 4, func(i int) error {
		if now := running.Add(1); now > most.Load() {
			most.Store(now)
		}
		defer running.Add(-1)
		if i%20 == 3 {
			return fmt.Errorf("fault %d", i)
		}
		return nil
	})
	if want := "fault 3\nfault 23\nfault 43"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
	if n := most.Load(); n > 4 {
		t.Errorf("%d calls at once", n)
	}
}

func TestEachCallsAllAtOnce(t *testing.T) {
	met := make(chan struct{})
	var count atomic.Int64
	err := fanout.Each(t.Context(), 20, 0, func(int) error {
		if count.Add(1) == 20 {
			close(met)
		}
		<-met
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestEachStopsWithTheContext(t *testing.T) {
	ended, fault := errors.New("ended"), errors.New("fault")
	ctx, cancel := context.WithCancelCause(t.Context())
	var calls atomic.Int64
	err := fanout.Each(ctx, 10, 1, func(i int) error {
		if calls.Add(1); i == 2 {
			cancel(ended)
			return fault
		}
		return nil
	})
	if n := calls.Load(); n != 3 {
		t.Errorf("%d calls", n)
	}
	if !errors.Is(err, ended) || !errors.Is(err, fault) {
		t.Errorf("got %v", err)
	}
	if err := fanout.Each(ctx, 0, 1, nil); err != nil {
		t.Errorf("without items: %v", err)
	}
}
