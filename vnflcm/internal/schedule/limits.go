// Package schedule decides when the end of certificates is announced, and when they are renewed without an order.
package schedule

import "time"

// Day is the unit of the limits, whatever daylight saving time makes of a day.
const Day = 24 * time.Hour

const (
	firstOfCA   = 365 // days before the end of an authority
	renewBefore = 30 * Day
)

// limits are the days before the end of a certificate at which its end is announced, the first one first.
var limits = []int{60, 30, 14, 7, 3, 1}

// Life is the life of a certificate.
type Life struct {
	NotBefore time.Time // zero: unknown
	NotAfter  time.Time
	IsCA      bool
}

// Limit returns the last limit that has passed, in days before the end. passed is false before the first limit.
func (l Life) Limit(now time.Time) (days int, passed bool) {
	for _, limit := range l.limits() {
		if !now.Before(l.at(limit)) {
			days, passed = limit, true
		}
	}
	return days, passed
}

// Renewable reports whether the certificate is to be renewed: 30 days before its end, or in the last third of a shorter life. Authorities
// are never renewed.
func (l Life) Renewable(now time.Time) bool { return !l.IsCA && !now.Before(l.renewal()) }

// Next returns when Limit or Renewable give another answer than at now, or the certificate ends. It is zero if that is never.
func (l Life) Next(now time.Time) (next time.Time) {
	times := []time.Time{l.NotAfter}
	if !l.IsCA {
		times = append(times, l.renewal())
	}
	for _, limit := range l.limits() {
		times = append(times, l.at(limit))
	}
	for _, t := range times {
		if t.After(now) && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	return next
}

func (l Life) at(limit int) time.Time { return l.NotAfter.Add(-time.Duration(limit) * Day) }

func (l Life) renewal() time.Time {
	before := renewBefore
	if life := l.length(); life > 0 {
		before = min(before, life/3)
	}
	return l.NotAfter.Add(-before)
}

// limits are those of the certificate. A limit that passes in the first half of its life says nothing.
func (l Life) limits() (out []int) {
	all := limits
	if l.IsCA {
		all = append([]int{firstOfCA}, limits...)
	}
	for _, limit := range all {
		if life := l.length(); life == 0 || time.Duration(limit)*Day <= life/2 {
			out = append(out, limit)
		}
	}
	return out
}

// length is 0 if it is unknown.
func (l Life) length() time.Duration {
	if l.NotBefore.IsZero() {
		return 0
	}
	return max(0, l.NotAfter.Sub(l.NotBefore))
}
