package ansible

import (
	"bytes"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
)

// line is one line of the output of the callback ansible.posix.jsonl.
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

// The events of ansible.posix.jsonl that are read.
const (
	onPlay        = "v2_playbook_on_play_start"
	onTask        = "v2_playbook_on_task_start"
	onHandler     = "v2_playbook_on_handler_task_start"
	onStart       = "v2_runner_on_start" // a task starts on one host, with strategy: free, where each host runs at its own pace
	onOK          = "v2_runner_on_ok"
	onFailed      = "v2_runner_on_failed"
	onSkipped     = "v2_runner_on_skipped"
	onUnreachable = "v2_runner_on_unreachable"
	onStats       = "v2_playbook_on_stats"
)

// readLine reads a line of JSON. It returns false for a line that the callback did not write.
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
		// The callback writes one host per line. If there are several, sort them, so that reading twice gives the same
		// order.
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
		_ = json.Unmarshal(result, &how) // a result that is not an object has changed nothing
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
		return // an event of a later version
	}
	r.result(e)
	if e.failure() {
		r.say(e.String())
	}
}

// longLine finds event and host at the beginning of a line that is too long to be read. The callback sorts the keys.
var longLine = regexp.MustCompile(`^\{"_event":"(v2_runner_on_[a-z]+)","_timestamp":"[^"]*","hosts":\{"([^"\\]+)":\{`)

// readLongLine reads the beginning of a line that is too long.
func readLongLine(r *reading, text []byte) bool {
	m := longLine.FindSubmatch(cutBytes(text, 1000))
	if m == nil {
		return false
	}
	readResult(r, string(m[1]), "", string(m[2]), json.RawMessage(`{"msg":"it said more than can be read"}`))
	return true
}
