package schedule

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// Window is a time of day on some days of the week. The zero Window is never open.
type Window struct {
	Days     []time.Weekday // on which it opens; none: every day
	From, To time.Duration  // since midnight by the clocks of Location; To before From is on the next day
	Location *time.Location // nil: UTC
}

// IsZero reports whether the window is never open.
func (w Window) IsZero() bool { return w.From == w.To }

// Check returns the faults of a window.
func (w Window) Check() error {
	var faults []error
	if w.From < 0 || w.From >= Day {
		faults = append(faults, fmt.Errorf("from: %v is no time of day", w.From))
	}
	if w.To < 0 || w.To > Day {
		faults = append(faults, fmt.Errorf("to: %v is no time of day", w.To))
	}
	if w.IsZero() && (w.From != 0 || len(w.Days) > 0) {
		faults = append(faults, errors.New("from and to are the same"))
	}
	for _, day := range w.Days {
		if day < time.Sunday || day > time.Saturday {
			faults = append(faults, fmt.Errorf("days: %d is no day of the week", day))
		}
	}
	return errors.Join(faults...)
}

// Open reports whether the window is open, and the date on which it has opened.
func (w Window) Open(now time.Time) (date string, open bool) {
	location := w.Location
	if location == nil {
		location = time.UTC
	}
	now = now.In(location)
	hour, minute, second := now.Clock()
	clock := time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute + time.Duration(second)*time.Second
	switch {
	case w.From < w.To:
		open = clock >= w.From && clock < w.To
	case w.From > w.To && clock < w.To: // it has opened on the day before
		open, now = true, time.Date(now.Year(), now.Month(), now.Day()-1, 12, 0, 0, 0, location)
	case w.From > w.To:
		open = clock >= w.From
	}
	return now.Format(time.DateOnly), open && (len(w.Days) == 0 || slices.Contains(w.Days, now.Weekday()))
}
