package vnflcm

import (
	"cmp"
	"hash/crc32"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// servers are the processes that take up operations: how many each may work on, and works on.
type servers map[string]*load

type load struct{ limit, now int }

// serversOf finds the processes that take up operations in what was read.
func (m *Manager) serversOf(claims []seenClaim, processes []store.Record) servers {
	out := servers{}
	for _, p := range processes {
		var said ledger.LeaseRecord
		if m.records.Open(p, &said) == nil && said.Limit > 0 && !m.isGone(p) {
			out[p.ID] = &load{limit: said.Limit}
		}
	}
	for _, c := range claims {
		if server := out[c.held.Process]; server != nil {
			server.now++
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out[m.process.ID()] = &load{limit: m.cfg.Limit, now: len(m.runs)}
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
func (m *Manager) mayTake(s servers, free store.Record) (may, falls bool) {
	waited := m.seen.StoodStill(free, patience)
	mine := s[m.process.ID()]
	switch to := s.next(free.ID); {
	case to == m.process.ID():
		return true, true
	case waited && mine.now < mine.limit:
		mine.now++
		return true, false
	}
	return false, false
}

// leave notes that this process does not take up an operation that mayTake gave it.
func (s servers) leave(process string) { s[process].now-- }
