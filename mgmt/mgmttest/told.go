package mgmttest

import (
	"bytes"
	"slices"
	"sync"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// told collects the log and the events of the processes of a lab.
type told struct {
	mu     sync.Mutex
	log    bytes.Buffer
	events []vnflcm.Event
	hosts  map[string]string // machine by VNFC
}

// Write implements io.Writer for the log.
func (t *told) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.log.Write(p)
}

func (t *told) observe(e vnflcm.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, e)
	if e.Host != "" {
		t.hosts[e.On] = e.Host
	}
}

// Log returns the log of the processes.
func (l *Lab) Log() string {
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return l.told.log.String()
}

// Events returns the events of all processes.
func (l *Lab) Events() []vnflcm.Event {
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return slices.Clone(l.told.events)
}

// NameOf returns the machine that a VNFC has had, "" if there was none.
func (l *Lab) NameOf(vnfc string) string {
	l.told.mu.Lock()
	defer l.told.mu.Unlock()
	return l.told.hosts[vnfc]
}
