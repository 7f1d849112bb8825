package mgmttest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/progress"
)

// longestStory is how many lines a failure shows, the last ones.
const longestStory = 200

// story returns what the processes have done: a line for each step, as vnflcm/progress shows steps, and between them the warnings and
// errors of the log.
func (l *Lab) story() string {
	var out strings.Builder
	screen := progress.New(&out, progress.Options{})
	logged := troubles(l.Log())
	for _, e := range l.Events() {
		for len(logged) > 0 && logged[0].time.Before(e.Time) {
			out.WriteString(logged[0].line)
			logged = logged[1:]
		}
		screen.Observe(e)
	}
	screen.Close()
	for _, t := range logged {
		out.WriteString(t.line)
	}
	lines := strings.SplitAfter(out.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-longestStory):], "")
}

// trouble is a warning or an error of the log.
type trouble struct {
	time time.Time
	line string
}

// troubles returns the warnings and errors of a log of JSON objects.
func troubles(log string) (out []trouble) {
	for line := range strings.Lines(log) {
		var attributes map[string]any
		var record struct {
			Time    time.Time  `json:"time"`
			Level   slog.Level `json:"level"`
			Message string     `json:"msg"`
		}
		if json.Unmarshal([]byte(line), &record) != nil || json.Unmarshal([]byte(line), &attributes) != nil || record.Level < slog.LevelWarn {
			continue
		}
		maps.DeleteFunc(attributes, func(key string, _ any) bool {
			return slices.Contains([]string{"time", "level", "msg", "stack", "instance", "operation"}, key)
		})
		text := fmt.Sprintf("   %s %s", record.Level, record.Message)
		for _, key := range slices.Sorted(maps.Keys(attributes)) {
			text += fmt.Sprintf(" %s=%v", key, attributes[key])
		}
		out = append(out, trouble{record.Time, text + "\n"})
	}
	return out
}
