package ansible

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// line is one of the callback ansible.posix.jsonl.
type line struct {
	Event string `json:"_event"`
	Play  struct {
		Name string `json:"name"`
	} `json:"play"`
	Task struct {
		Name string `json:"name"`
		ID   string `json:"id"`
	} `json:"task"`
	Hosts map[string]json.RawMessage `json:"hosts"`
	Stats map[string]struct {
		OK          int `json:"ok"`
		Changed     int `json:"changed"`
		Unreachable int `json:"unreachable"`
		Failures    int `json:"failures"`
		Skipped     int `json:"skipped"`
		Rescued     int `json:"rescued"`
		Ignored     int `json:"ignored"`
	} `json:"stats"`
}

// The names of its events.
const (
	onPlay        = "v2_playbook_on_play_start"
	onTask        = "v2_playbook_on_task_start"
	onHandler     = "v2_playbook_on_handler_task_start"
	onStart       = "v2_runner_on_start" // of a host, where hosts do not go in step (strategy: free)
	onOK          = "v2_runner_on_ok"
	onFailed      = "v2_runner_on_failed"
	onSkipped     = "v2_runner_on_skipped"
	onUnreachable = "v2_runner_on_unreachable"
	onStats       = "v2_playbook_on_stats"
)

// readLine reads a line of JSON. It returns false for one that is none of the callback.
func readLine(r *reading, text []byte) bool {
	var l line
	if !bytes.HasPrefix(text, []byte("{")) || json.Unmarshal(text, &l) != nil || l.Event == "" {
		return false
	}
	switch l.Event {
	case onPlay:
		r.startPlay(l.Play.Name)
		r.say("PLAY [" + l.Play.Name + "]")
	case onTask, onHandler:
		r.beginTask(l.Task.Name)
	case onStart:
		if name := r.name(l.Task.Name); name != r.task {
			r.beginTask(l.Task.Name)
		}
	case onStats:
		r.startRecap()
		for host, s := range l.Stats {
			r.recap[host] = HostRecap{
				OK: s.OK, Changed: s.Changed, Unreachable: s.Unreachable, Failed: s.Failures, Skipped: s.Skipped,
				Rescued: s.Rescued, Ignored: s.Ignored,
			}
		}
	default:
		// The callback writes one host. Of several, the order is that of their names, so that two readings agree.
		for _, host := range slices.Sorted(maps.Keys(l.Hosts)) {
			readResult(r, l.Event, r.name(l.Task.Name), host, l.Hosts[host])
		}
	}
	return true
}

func (r *reading) beginTask(name string) {
	r.startTask(name)
	r.say("TASK [" + name + "]")
}

func readResult(r *reading, event, task, host string, result json.RawMessage) {
	e := Event{Host: host, Task: task}
	switch event {
	case onOK:
		var how struct {
			Changed any `json:"changed"`
		}
		_ = json.Unmarshal(result, &how) // what is no object has not changed anything
		e.Kind = HostOK
		if changed, _ := how.Changed.(bool); changed {
			e.Kind = HostChanged
		}
	case onSkipped:
		e.Kind = HostSkipped
	case onFailed:
		e.Kind, e.Message = HostFailed, explainResult(result)
	case onUnreachable:
		e.Kind, e.Message = Unreachable, explainResult(result)
	default:
		return // of a later version
	}
	r.result(e)
	if e.failure() {
		r.say(e.String())
	}
}

// longLine finds event and host in the beginning of a line that is too long to be read: its keys are sorted.
var longLine = regexp.MustCompile(`^\{"_event":"(v2_runner_on_[a-z]+)","_timestamp":"[^"]*","hosts":\{"([^"\\]+)":\{`)

// readLongLine reads the beginning of a line.
func readLongLine(r *reading, text []byte) bool {
	m := longLine.FindSubmatch(cutBytes(text, 1000))
	if m == nil {
		return false
	}
	readResult(r, string(m[1]), "", string(m[2]), json.RawMessage(`{"msg":"it said more than can be read"}`))
	return true
}
