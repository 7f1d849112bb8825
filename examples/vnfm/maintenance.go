package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// maintenanceConfig says when certificates are renewed without an order.
type maintenanceConfig struct {
	Days      []string `yaml:"days"`      // of the week, in English; default: every day
	From      string   `yaml:"from"`      // times of day, such as 22:00
	To        string   `yaml:"to"`        // on the next day if it is before from
	Location  string   `yaml:"location"`  // time zone, such as Europe/Berlin; default: UTC
	Instances int      `yaml:"instances"` // most instances each time; default: 1
}

func (c maintenanceConfig) isZero() bool {
	return len(c.Days) == 0 && c.From == "" && c.To == "" && c.Location == "" && c.Instances == 0
}

// window returns the window, or the first fault of the settings.
func (c maintenanceConfig) window() (w vnflcm.MaintenanceWindow, err error) {
	if c.isZero() {
		return w, nil
	}
	for _, name := range c.Days {
		day := slices.IndexFunc(weekdays, func(d time.Weekday) bool { return strings.EqualFold(d.String(), name) })
		if day < 0 {
			return w, fmt.Errorf("days: %q is no day of the week, such as saturday", name)
		}
		w.Days = append(w.Days, weekdays[day])
	}
	if w.From, err = timeOfDay("from", c.From); err == nil {
		w.To, err = timeOfDay("to", c.To)
	}
	if err != nil {
		return w, err
	}
	if w.From == w.To || c.Instances < 0 {
		return w, fmt.Errorf("from and to must differ, and instances must not be negative")
	}
	if w.Location, err = time.LoadLocation(c.Location); err != nil {
		return w, fmt.Errorf("location: %w", err)
	}
	w.Instances = c.Instances
	return w, nil
}

var weekdays = []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}

func timeOfDay(setting, text string) (time.Duration, error) {
	if text == "24:00" {
		return 24 * time.Hour, nil
	}
	t, err := time.Parse("15:04", text)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is no time of day, such as 22:00", setting, text)
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute, nil
}
