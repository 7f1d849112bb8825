package vnflcm

import (
	"cmp"
	"context"
	"fmt"
	"hash/crc32"
	"time"
)

// ServeOptions configure Serve.
type ServeOptions struct {
	// Limit is how many operations this process works on at once. Default 64.
	Limit int
}

// Serve takes up operations that no process works on, the oldest accepted first: those that a Manager with AcceptOnly
// or one at its Limit has accepted, and those that other processes have left. Processes that serve share the operations
// evenly. Serve returns when ctx has ended, or ErrShutdown when the Manager is closed or a newer version has migrated the store. Running operations continue
// until Close.
//
// While a Manager serves, Limit also bounds the operations that it accepts itself: it leaves further ones to any
// process. Only one Serve runs at a time. A program with a single Manager does not need it.
func (m *Manager) Serve(ctx context.Context, o ServeOptions) error {
	if !m.works() {
		return fmt.Errorf("%w: a Manager with AcceptOnly or a Runner does not serve", ErrProgramming)
	}
	limit := cmp.Or(max(o.Limit, 0), 64)
	if err := m.startServing(ctx, limit); err != nil {
		return err
	}
	defer m.stopServing(context.WithoutCancel(ctx))
	for {
		changed := m.changed.wait()
		if err := m.shutdown(); err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (m *Manager) startServing(ctx context.Context, limit int) error {
	m.mu.Lock()
	switch {
	case m.closed:
		m.mu.Unlock()
		return ErrShutdown
	case m.limit > 0:
		m.mu.Unlock()
		return fmt.Errorf("%w: the Manager serves already", ErrProgramming)
	}
	m.limit = limit
	m.mu.Unlock()
	if err := m.process.serve(ctx, limit); err != nil {
		m.setLimit(0)
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrShutdown
	}
	m.startKeeping(ctx)
	return nil
}

// stopServing publishes a limit of zero, so that other processes take up free operations, also after Serve.
func (m *Manager) stopServing(ctx context.Context) {
	m.setLimit(0)
	_ = m.process.serve(ctx, 0) // other processes count this process until its next renewal
}

func (m *Manager) setLimit(limit int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.limit = limit
}

// servers are the processes that serve: how many operations each may work on, and works on.
type servers map[string]*load

type load struct{ limit, now int }

// serversOf reads who serves. It returns nil if this process does not: then it takes up every operation.
func (m *Manager) serversOf(claims []seenClaim, processes []Record) servers {
	m.mu.Lock()
	limit, mine := m.limit, len(m.runs)
	m.mu.Unlock()
	if limit == 0 {
		return nil
	}
	out := servers{}
	for _, p := range processes {
		var said processRecord
		if m.records.open(p, &said) == nil && said.Limit > 0 && !m.isGone(p) {
			out[p.ID] = &load{limit: said.Limit}
		}
	}
	for _, c := range claims {
		if server := out[c.held.Process]; server != nil {
			server.now++
		}
	}
	out[m.process.owner] = &load{limit: limit, now: mine}
	return out
}

// next gives a free operation to the process that has the least to do, and returns that process; "" if all are at their
// limits. Of several with as little to do, the id of the operation decides. All processes come to the same answers,
// oldest operation first, as far as they have read the same.
func (s servers) next(opID string) string {
	var best string
	for id, l := range s {
		if l.now < l.limit && (best == "" || cmp.Or(cmp.Compare(l.now, s[best].now), cmp.Compare(rank(id, opID), rank(best, opID))) < 0) {
			best = id
		}
	}
	if best != "" {
		s[best].now++
	}
	return best
}

// rank orders processes differently for each operation.
func rank(process, opID string) uint32 { return crc32.ChecksumIEEE([]byte(process + "/" + opID)) }

// patience is how long an operation waits for the process that it falls to, before any other with room takes it up.
const patience = time.Second

// mayTake reports whether this process takes up a free operation now, and whether the operation falls to it. It is asked for each, the
// oldest first.
func (m *Manager) mayTake(s servers, free Record) (may, falls bool) {
	if s == nil {
		return true, true
	}
	waited := m.seen.stoodStill(free, patience)
	mine := s[m.process.owner]
	switch to := s.next(free.ID); {
	case to == m.process.owner:
		return true, true
	case waited && mine.now < mine.limit:
		mine.now++
		return true, false
	}
	return false, false
}

// leave notes that this process does not take up an operation that mayTake gave it.
func (s servers) leave(process string) {
	if s != nil {
		s[process].now--
	}
}
