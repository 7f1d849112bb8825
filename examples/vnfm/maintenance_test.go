package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestMaintenanceWindow checks that the settings of the window are passed to the Manager, and that the error names an invalid setting.
func TestMaintenanceWindow(t *testing.T) {
	t.Parallel()
	for text, c := range map[string]struct {
		want  vnflcm.MaintenanceWindow
		fault string
	}{
		"":                         {},
		"{from: 22:00, to: 04:30}": {want: vnflcm.MaintenanceWindow{From: 22 * time.Hour, To: 4*time.Hour + 30*time.Minute, Location: time.UTC}},
		"{from: '00:00', to: '24:00', days: [saturday, Sunday], instances: 3, location: UTC}": {
			want: vnflcm.MaintenanceWindow{To: 24 * time.Hour, Days: []time.Weekday{time.Saturday, time.Sunday}, Instances: 3, Location: time.UTC}},
		"{from: '22:00'}":                              {fault: `maintenance: to: "" is no time of day`},
		"{from: '22:00', to: '25:00'}":                 {fault: `maintenance: to: "25:00" is no time of day`},
		"{from: '22:00', to: '22:00'}":                 {fault: "maintenance: from and to must differ"},
		"{from: '1:00', to: '2:00', instances: -1}":    {fault: "maintenance: from and to must differ, and instances must not be negative"},
		"{from: '1:00', to: '2:00', days: [caturday]}": {fault: `maintenance: days: "caturday" is no day`},
		"{from: '1:00', to: '2:00', location: Moon}":   {fault: "maintenance: location: unknown time zone Moon"},
		"{days: [monday]}":                             {fault: `maintenance: from: "" is no time of day`},
	} {
		file := filepath.Join(t.TempDir(), "vnfm.yaml")
		must(t, os.WriteFile(file, []byte("maintenance: "+text+"\n"), 0o600))
		read, err := readConfig([]string{"-sandbox", "-config=" + file})
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: error %v", text, err)
			}
			continue
		}
		must(t, err)
		got, err := read.Maintenance.window()
		must(t, err)
		if diff := cmp.Diff(c.want, got, cmp.Comparer(func(a, b *time.Location) bool { return a == b || a != nil && b != nil && a.String() == b.String() })); diff != "" {
			t.Errorf("%s:\n%s", text, diff)
		}
	}
}
