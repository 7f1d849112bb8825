package notify

import (
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// delays are the notifications that are sent again, because the subscriber has not accepted an earlier attempt.
type delays struct {
	mu    sync.Mutex
	since map[delayed]time.Time // when the changes were made
}

type delayed struct{ subscription, change string }

func (d *delays) begin(subscription string, c vnflcm.ChangeEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.since == nil {
		d.since = map[delayed]time.Time{}
	}
	d.since[delayed{subscription, c.ID}] = c.Time
}

func (d *delays) end(subscription string, c vnflcm.ChangeEntry) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.since, delayed{subscription, c.ID})
}

// Delay returns the age of the oldest change whose notification this process sends again, because the subscriber has not accepted it; 0 if
// there is no such notification. Of several processes on one store, one sends.
func (n *Notifier) Delay() time.Duration {
	n.delayed.mu.Lock()
	defer n.delayed.mu.Unlock()
	var longest time.Duration
	for _, since := range n.delayed.since {
		longest = max(longest, time.Since(since))
	}
	return longest
}
