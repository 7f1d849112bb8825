package sqlite

import (
	"context"
	"slices"
	"sync"
)

// turn lets one writer at a time through, in the order in which they came, urgent ones first. Without it writers of a
// process starve each other: SQLite lets them try again at random, and a renewal of a lease may come too late.
type turn struct {
	mu      sync.Mutex
	busy    bool
	urgent  []chan struct{} // a writer's is closed when it may write
	waiting []chan struct{}
}

func (t *turn) take(ctx context.Context, urgent bool) error {
	t.mu.Lock()
	if !t.busy {
		t.busy = true
		t.mu.Unlock()
		return nil
	}
	mine := make(chan struct{})
	queue := &t.waiting
	if urgent {
		queue = &t.urgent
	}
	*queue = append(*queue, mine)
	t.mu.Unlock()
	select {
	case <-mine:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	i := slices.Index(*queue, mine)
	if i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
	t.mu.Unlock()
	if i < 0 { // its turn came at the same moment
		t.pass()
	}
	return context.Cause(ctx)
}

// pass lets the next writer through.
func (t *turn) pass() {
	t.mu.Lock()
	defer t.mu.Unlock()
	queue := &t.urgent
	if len(*queue) == 0 {
		queue = &t.waiting
	}
	if len(*queue) == 0 {
		t.busy = false
		return
	}
	close((*queue)[0])
	*queue = (*queue)[1:]
}
