package ledger

import (
	"maps"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// Sightings are records of other processes as this process has seen them, by their keys. They show which processes are gone without a
// comparison of the clocks of two machines: a process renews its lease, so a lease that stays the same for its TTL, by the clock of the
// process that looks, belongs to a process that is gone. Look in intervals of LookEvery. Sightings are not safe for concurrent use.
type Sightings map[[2]string]sighting

// sighting is when a record was first seen with the version that it still has.
type sighting struct {
	version int64
	since   time.Time // its monotonic part counts
	due     int       // how often IsDue has returned true since
}

// StoodStill notes the record, and reports whether it has been seen unchanged for that long.
func (s Sightings) StoodStill(r store.Record, ttl time.Duration) bool {
	was, known := s[r.Key()]
	if !known || was.version != r.Version {
		s[r.Key()] = sighting{version: r.Version, since: time.Now()}
		return false
	}
	return time.Since(was.since) >= ttl
}

// IsDue notes the record, and reports whether work is due that is repeated until the record changes: after the TTL, and after that in
// intervals that double up to 64 times the TTL.
func (s Sightings) IsDue(r store.Record, ttl time.Duration) bool {
	if !s.StoodStill(r, ttl<<s[r.Key()].due) {
		return false
	}
	s[r.Key()] = sighting{version: r.Version, since: time.Now(), due: min(s[r.Key()].due+1, 6)}
	return true
}

// HasChanged reports whether the record was noted with another version.
func (s Sightings) HasChanged(r store.Record) bool {
	was, known := s[r.Key()]
	return known && was.version != r.Version
}

// Forget removes a record.
func (s Sightings) Forget(r store.Record) { delete(s, r.Key()) }

// Retain removes all records but those whose keys satisfy keep.
func (s Sightings) Retain(keep func(key [2]string) bool) {
	maps.DeleteFunc(s, func(key [2]string, _ sighting) bool { return !keep(key) })
}

// LookEvery returns the interval in which to look at the leases of other processes. It is short compared with the TTL, so that it adds little
// to the delay before work continues.
func LookEvery(ttl time.Duration) time.Duration { return min(ttl/8, 500*time.Millisecond) }

// LeastPause is the least time between two looks at the store for the same reason.
const LeastPause = 50 * time.Millisecond
