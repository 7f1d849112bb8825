package sshtest

import (
	"context"
	"slices"
	"sync"
)

// Faults are the faults of a host. The zero value is a healthy host. A stalled operation continues when
// [Host.SetFaults] removes the fault, and ends with its connection and with [Host.Close].
type Faults struct {
	// Refuse resets new connections, as if the host were down. Open connections stay: see Host.CutConnections.
	Refuse bool
	// StallHandshake accepts new connections and sends nothing, not even the version of SSH.
	StallHandshake bool
	// MaxStartups limits the connections that are in their handshake or login at the same time. The host closes further
	// connections before it sends the version of SSH. 0: no limit.
	MaxStartups int

	// StallLogin does not answer any credential.
	StallLogin bool
	// RefuseLogin refuses every credential, as a booting machine does before its users are created.
	RefuseLogin bool

	// StallSessions does not answer requests to open a session.
	StallSessions bool
	// StallCommands opens sessions and does not answer requests for a command or for SFTP. Nothing is started.
	StallCommands bool
	// RefuseSessions refuses to open sessions ("open failed").
	RefuseSessions bool
	// MaxSessions limits the open sessions of one connection. Further sessions are refused as by RefuseSessions. 0: no limit.
	MaxSessions int
	// NoSFTP removes the SFTP subsystem and the program sftp-server.
	NoSFTP bool

	// CutAfter drops each connection after the host has received this number of bytes from it. The bytes of an open connection
	// count from the call of SetFaults on. A handshake with its login takes some 3 KiB. 0: never.
	CutAfter int64
	// Cuts limits the number of connections that CutAfter drops. 0: no limit.
	Cuts int
	// StallAfter stops each connection, in both directions, after the host has received this number of bytes from it, counted
	// as for CutAfter. 0: never.
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

// SetFaults replaces all faults of the host by f, on open connections too. The files that [Host.FS] returns have no faults.
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
	since    int           // number of changes so far
	changed  chan struct{} // closed by the next change
	cut      int           // connections that CutAfter has dropped
	diskUsed int64         // bytes written since the last change
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

// get returns the faults, the number of changes so far, and a channel that the next change closes.
func (f *faults) get() (now Faults, since int, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now, f.since, f.changed
}

func (f *faults) current() Faults {
	now, _, _ := f.get()
	return now
}

// await waits until stalls returns false for the current faults. It returns false if ctx ends first.
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

// mayCut reports whether CutAfter may drop one more connection, and counts this connection.
func (f *faults) mayCut() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.now.CutAfter == 0 || f.now.Cuts > 0 && f.cut >= f.now.Cuts {
		return false
	}
	f.cut++
	return true
}

// disk returns how many of n bytes still fit on the disk, and uses up this space.
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
