package linux

import "sync"

// Tail is an io.Writer that keeps the last Most bytes that are written, so that endless output does not fill the
// memory. It is safe for concurrent use: a command may have it as Stdout and Stderr.
type Tail struct {
	Most int

	mu   sync.Mutex
	kept []byte
}

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p[max(0, len(p)-t.Most):]...)
	if drop := len(t.kept) - t.Most; drop > 0 {
		t.kept = append(t.kept[:0], t.kept[drop:]...)
	}
	return len(p), nil
}

// String returns the kept bytes.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
