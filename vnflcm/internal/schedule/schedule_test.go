package schedule_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/internal/schedule"
)

const day = schedule.Day

var noon = time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC) // a Sunday

func TestLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		left, life time.Duration // life 0: unknown
		isCA       bool
		limit      string // "": none has passed
		renewable  bool
		next       time.Duration // from now; 0: never
	}{
		{left: 364 * day, life: 365 * day, next: 304 * day},
		{left: 60*day + 1, next: 1},
		{left: 60 * day, limit: "60", next: 30 * day},
		{left: 30*day + 1, limit: "60", next: 1},
		{left: 30 * day, limit: "30", renewable: true, next: 16 * day},
		{left: 14 * day, limit: "14", renewable: true, next: 7 * day},
		{left: 7 * day, limit: "7", renewable: true, next: 4 * day},
		{left: 3 * day, limit: "3", renewable: true, next: 2 * day},
		{left: 25 * time.Hour, limit: "3", renewable: true, next: time.Hour},
		{left: day, limit: "1", renewable: true, next: day},
		{left: 0, limit: "1", renewable: true},
		{left: -day, limit: "1", renewable: true},
		{left: 366 * day, isCA: true, next: day},
		{left: 365 * day, isCA: true, limit: "365", next: 305 * day},
		{left: 20 * day, isCA: true, limit: "30", next: 6 * day},
		{left: 10 * 365 * day, life: 10 * 365 * day, isCA: true, next: 9 * 365 * day},
		{left: 40 * day, life: 40 * day, next: 26 * day}, // limits of 60 and 30 days pass in the first half of the life
		{left: 13 * day, life: 40 * day, limit: "14", renewable: true, next: 6 * day},
		{left: 10 * time.Minute, life: 10 * time.Minute, next: 400 * time.Second},
		{left: 200 * time.Second, life: 10 * time.Minute, renewable: true, next: 200 * time.Second},
		{left: day, life: -day, limit: "1", renewable: true, next: day}, // ends before it begins
	} {
		name := fmt.Sprint(c.left, " of ", c.life, " ", c.isCA)
		life := schedule.Life{NotAfter: noon.Add(c.left), IsCA: c.isCA}
		if c.life != 0 {
			life.NotBefore = life.NotAfter.Add(-c.life)
		}
		limit := ""
		if days, passed := life.Limit(noon); passed {
			limit = fmt.Sprint(days)
		}
		var next time.Duration
		if at := life.Next(noon); !at.IsZero() {
			next = at.Sub(noon)
		}
		if limit != c.limit || life.Renewable(noon) != c.renewable || next != c.next {
			t.Errorf("%s: limit %q, renewable %t, next in %v; want %q, %t, %v", name, limit, life.Renewable(noon), next, c.limit, c.renewable, c.next)
		}
	}
}

func TestFarTimes(t *testing.T) {
	t.Parallel()
	for _, end := range []time.Time{{}, time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC)} {
		life := schedule.Life{NotBefore: time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC), NotAfter: end}
		if _, passed := life.Limit(noon); passed == end.After(noon) || life.Renewable(noon) == end.After(noon) || life.Next(noon).IsZero() == end.After(noon) {
			t.Errorf("%v: passed %t, renewable %t, next %v", end, passed, life.Renewable(noon), life.Next(noon))
		}
	}
}

func TestWindow(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Skip("the machine has no time zones: ", err)
	}
	at := func(text string) time.Time {
		out, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	night := schedule.Window{Days: []time.Weekday{time.Saturday}, From: 22 * time.Hour, To: 4 * time.Hour}
	local := schedule.Window{From: 2 * time.Hour, To: 3 * time.Hour, Location: berlin}
	for _, c := range []struct {
		window schedule.Window
		now    string
		date   string // "": it is closed
	}{
		{schedule.Window{}, "2026-11-28T00:00:00Z", ""},
		{schedule.Window{To: day}, "2026-11-28T23:59:59Z", "2026-11-28"},
		{schedule.Window{From: time.Hour, To: 2 * time.Hour}, "2026-11-28T00:59:59Z", ""},
		{schedule.Window{From: time.Hour, To: 2 * time.Hour}, "2026-11-28T01:00:00Z", "2026-11-28"},
		{schedule.Window{From: time.Hour, To: 2 * time.Hour}, "2026-11-28T02:00:00Z", ""},
		{night, "2026-11-28T21:59:59Z", ""},
		{night, "2026-11-28T22:00:00Z", "2026-11-28"},
		{night, "2026-11-29T03:59:59Z", "2026-11-28"},
		{night, "2026-11-29T04:00:00Z", ""},
		{night, "2026-11-29T22:00:00Z", ""},
		{night, "2026-11-28T03:00:00Z", ""}, // it has opened on Friday
		{night, "2027-01-03T01:00:00Z", "2027-01-02"},
		{schedule.Window{Days: []time.Weekday{time.Thursday}, From: 23 * time.Hour, To: time.Hour}, "2027-01-01T00:30:00Z", "2026-12-31"},
		{local, "2026-07-01T00:30:00Z", "2026-07-01"},
		{local, "2026-12-01T00:30:00Z", ""},
		{local, "2026-12-01T01:30:00Z", "2026-12-01"},
		{local, "2026-03-29T01:30:00Z", ""}, // the clocks show no such hour
		{local, "2026-10-25T00:30:00Z", "2026-10-25"},
		{local, "2026-10-25T01:30:00Z", "2026-10-25"}, // they show it twice
		{schedule.Window{From: 23 * time.Hour, To: 3 * time.Hour, Location: berlin}, "2026-03-29T00:30:00Z", "2026-03-28"},
	} {
		date, open := c.window.Open(at(c.now))
		if open != (c.date != "") || open && date != c.date {
			t.Errorf("%+v at %s: %s, open %t; want %q", c.window, c.now, date, open, c.date)
		}
	}
}

func TestCheckWindow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		window schedule.Window
		ok     bool
	}{
		{schedule.Window{}, true},
		{schedule.Window{From: 23 * time.Hour, To: 0}, true},
		{schedule.Window{To: day}, true},
		{schedule.Window{Days: []time.Weekday{time.Monday}}, false},
		{schedule.Window{From: time.Hour, To: time.Hour}, false},
		{schedule.Window{From: day, To: time.Hour}, false},
		{schedule.Window{From: -1, To: time.Hour}, false},
		{schedule.Window{From: time.Hour, To: day + 1}, false},
		{schedule.Window{Days: []time.Weekday{7}, To: time.Hour}, false},
	} {
		if err := c.window.Check(); (err == nil) != c.ok {
			t.Errorf("%+v: %v", c.window, err)
		}
	}
}
