package sshtest

import (
	"context"
	"slices"
	"sync"
)

// Faults are the faults of a host. The zero value is a healthy host. A stalled operation continues when
// [Host.SetFaults] removes the fault, and ends with its connection and with [Host.Close].
type Faults struct {
	// Refuse resets new connections, as a host that is down. Open ones stay: see
	// Host.CutConnections.
	Refuse bool
	// StallHandshake accepts new connections and sends nothing, not even the version of SSH.
	StallHandshake bool
	// MaxStartups is how many connections may be in their handshake or login at
	// once; more are closed before the version of SSH is sent. 0: any number.
	MaxStartups int

	// StallLogin leaves every credential without an answer.
	StallLogin bool
	// RefuseLogin refuses every credential, as a booting machine does that has
	// no users yet.
	RefuseLogin bool

	// StallSessions leaves the opening of a session without an answer.
	StallSessions bool
	// StallCommands opens sessions and does not answer requests for a command or for SFTP. Nothing is started.
	StallCommands bool
	// RefuseSessions refuses to open sessions ("open failed").
	RefuseSessions bool
	// MaxSessions is how many sessions one connection may have open; more are
	// refused in the same way. 0: any number.
	MaxSessions int
	// NoSFTP takes the SFTP subsystem and the program sftp-server away.
	NoSFTP bool

	// CutAfter drops each connection that has sent the host so many bytes: one
	// that is open counts from SetFaults on, a new one from its beginning. A
	// handshake with its login takes some 3 KiB. 0: never.
	CutAfter int64
	// Cuts is how many connections CutAfter drops. 0: every one.
	Cuts int
	// StallAfter silences each connection, in both directions, after it has sent the host so many bytes, counted as for
	// CutAfter. 0: never.
	StallAfter int64
	// BytesPerSecond limits each connection, in each direction. 0: no limit.
	BytesPerSecond int

	// DiskFull makes writes to files fail with ENOSPC after DiskLeft more bytes, by programs and SFTP alike. Deleting
	// files frees no space.
	DiskFull bool
	DiskLeft int64
	// ReadOnly are absolute paths of directories below which no user can change anything (EROFS), not even root.
	ReadOnly []string
}

// SetFaults makes f all that is wrong with the host from now on, on open
// connections too. The files that [Host.FS] gives to the test itself are always
// healthy.
func (h *Host) SetFaults(f Faults) {
	f.ReadOnly = slices.Clone(f.ReadOnly)
	h.faults.set(f)
}

// Refuse changes Faults.Refuse and keeps the other faults.
func (h *Host) Refuse(refuse bool) {
	h.faults.change(func(f *Faults) { f.Refuse = refuse })
}

// faults are the current faults.
type faults struct {
	mu       sync.Mutex
	now      Faults
	since    int           // how often they were set
	changed  chan struct{} // closed by the next change
	cut      int           // connections that CutAfter has dropped
	diskUsed int64         // bytes written since they were set
}

func newFaults() *faults { return &faults{changed: make(chan struct{})} }

func (f *faults) set(to Faults) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now, f.cut, f.diskUsed = to, 0, 0
	f.since++
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *faults) change(fn func(*Faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fn(&f.now)
	close(f.changed)
	f.changed = make(chan struct{})
}

// get returns the faults, how often they were set, and a channel that is closed when they change.
func (f *faults) get() (now Faults, since int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.since, f.changed
}

func (f *faults) current() Faults {
	now, _, _ := f.get()
	return now
}

// await returns true when stalls returns false for the current faults; false if ctx ended first.
func (f *faults) await(ctx context.Context, stalls func(Faults) bool) bool {
	for {
		now, _, changed := f.get()
		if !stalls(now) {
			return ctx.Err() == nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// mayCut counts a connection that CutAfter drops.
func (f *faults) mayCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now.CutAfter == 0 || f.now.Cuts > 0 && f.cut >= f.now.Cuts {
		return false
	}
	f.cut++
	return true
}

// disk returns how many of n bytes still fit, and takes their place.
func (f *faults) disk(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.now.DiskFull {
		return n
	}
	fit := int(max(0, min(int64(n), f.now.DiskLeft-f.diskUsed)))
	f.diskUsed += int64(fit)
	return fit
}

// readOnly reports whether ReadOnly holds for a path.
func (f *faults) readOnly(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(f.now.ReadOnly, func(dir string) bool { return within(name, clean(dir)) })
}
