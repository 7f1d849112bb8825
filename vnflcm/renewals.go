package vnflcm

import (
	"sync"
	"time"
)

// renewals is the cache of a process about renewals.
type renewals struct {
	mu     sync.Mutex
	due    map[string]time.Time // by VIM, as listed
	listed time.Time
	next   map[string]attempt // by VIM
}

// attempt says when this process may next try to renew an entry.
type attempt struct {
	after    time.Time // its monotonic part counts
	failures int
	err      error // of the latest attempt, if it failed
}

func (p *renewals) note(due map[string]time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due, p.listed = due, time.Now()
}

// known returns the cached list, nil if it is old.
func (p *renewals) known() map[string]time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.listed) > renewLimit {
		return nil
	}
	return p.due
}

func (p *renewals) mayTry(vimID string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.next[vimID].after)
}

// failure returns the error of the latest attempt to renew an entry, nil if the attempt succeeded.
func (p *renewals) failure(vimID string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.next[vimID].err
}

// rest puts the next attempt off by at least that: a clock that is fast would have entries be renewed all the time.
func (p *renewals) rest(vimID string, least time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, vimID)
	if least > 0 {
		p.set(vimID, attempt{after: time.Now().Add(least)})
	}
}

// failed puts the next attempt off, longer each time, and returns by how much.
func (p *renewals) failed(vimID string, first time.Duration, err error) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	failures := p.next[vimID].failures
	again := min(first<<min(failures, 16), longestPause)
	p.set(vimID, attempt{time.Now().Add(again), failures + 1, err})
	return again
}

func (p *renewals) set(vimID string, a attempt) {
	if p.next == nil {
		p.next = map[string]attempt{}
	}
	p.next[vimID] = a
}
