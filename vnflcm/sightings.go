package vnflcm

import (
	"context"
	"maps"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// sightings are records of other processes as this process has seen them. They show which processes are gone without a comparison of the
// clocks of two machines: a process renews its record, so a record that stays the same for the TTL, by the clock of the process that looks,
// belongs to a process that is gone. Look in intervals of watchEvery. Sightings are not safe for concurrent use.
type sightings map[[2]string]sighting // by the key of the record

// sighting is when a record was first seen with the version that it still has.
type sighting struct {
	version int64
	since   time.Time // its monotonic part counts
	due     int       // how often isDue has returned true since
}

// stoodStill notes the record, and reports whether it has been seen unchanged for that long.
func (s sightings) stoodStill(r store.Record, ttl time.Duration) bool {
	was, known := s[r.Key()]
	if !known || was.version != r.Version {
		s[r.Key()] = sighting{version: r.Version, since: time.Now()}
		return false
	}
	return time.Since(was.since) >= ttl
}

// isDue is stoodStill for work that is repeated until the record changes: it returns true after the TTL, and after that in intervals that
// double up to 64 times the TTL.
func (s sightings) isDue(r store.Record, ttl time.Duration) bool {
	if !s.stoodStill(r, ttl<<s[r.Key()].due) {
		return false
	}
	s[r.Key()] = sighting{version: r.Version, since: time.Now(), due: min(s[r.Key()].due+1, 6)}
	return true
}

// hasChanged reports whether the record was noted with another version.
func (s sightings) hasChanged(r store.Record) bool {
	was, known := s[r.Key()]
	return known && was.version != r.Version
}

// forget forgets a record.
func (s sightings) forget(r store.Record) { delete(s, r.Key()) }

// retain forgets the records for whose keys it returns false.
func (s sightings) retain(is func(key [2]string) bool) {
	maps.DeleteFunc(s, func(key [2]string, _ sighting) bool { return !is(key) })
}

// watchEvery returns in which intervals to look at the records of other processes. They are short compared with the TTL, so that they add
// little to the delay before work continues.
func watchEvery(ttl time.Duration) time.Duration { return min(ttl/8, 500*time.Millisecond) }

// pauseLooking waits for the least time between two looks at the store for the same reason.
func pauseLooking(ctx context.Context) { pause(ctx, 50*time.Millisecond) }

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
