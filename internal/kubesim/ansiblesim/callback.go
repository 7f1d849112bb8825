package ansiblesim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// callback writes what happens.
type callback interface {
	play(name string)
	nobody() // is there for the play
	task(name string)
	result(host, delegate string, err error)
	nobodyLeft()
	stats(all map[string]*counts)
}

const jsonLines = "ansible.posix.jsonl"

// callback is the one that was asked for.
func (s *Server) callback(p *sshtest.Process) (callback, error) {
	switch name := setting(p, "ANSIBLE_STDOUT_CALLBACK", "defaults.stdout_callback", "default"); {
	case name == "default", name == "ansible.builtin.default":
		return &text{out: p.Stdout, skipped: truth(setting(p, "ANSIBLE_DISPLAY_SKIPPED_HOSTS", "defaults.display_skipped_hosts", "yes"))}, nil
	case name == jsonLines && s.Posix:
		return &lines{out: p.Stdout}, nil
	default:
		return nil, exit(1, "ERROR! Invalid callback for stdout specified: %s", name)
	}
}

// text is ansible.builtin.default, without colours.
type text struct {
	mu      sync.Mutex
	out     io.Writer
	skipped bool
}

func (t *text) banner(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	title := fmt.Sprintf(format, args...)
	_, _ = fmt.Fprintf(t.out, "\n%s %s\n", title, strings.Repeat("*", max(3, 79-len(title))))
}

func (t *text) play(name string) { t.banner("PLAY [%s]", name) }
func (t *text) task(name string) { t.banner("TASK [%s]", name) }
func (t *text) nobodyLeft()      { t.banner("NO MORE HOSTS LEFT") }
func (t *text) nobody()          { t.line("skipping: no hosts matched") }

func (t *text) line(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.out, format+"\n", args...)
}

func (t *text) result(host, delegate string, err error) {
	if delegate != "" {
		host += " -> " + delegate
	}
	var gone unreachable
	switch {
	case err == nil:
		t.line("ok: [%s]", host)
	case errors.Is(err, ErrChanged):
		t.line("changed: [%s]", host)
	case errors.Is(err, ErrSkipped):
		if t.skipped {
			t.line("skipping: [%s]", host)
		}
	case errors.As(err, &gone):
		t.line("fatal: [%s]: UNREACHABLE! => %s", host, python(details(err)))
	default:
		t.line("fatal: [%s]: FAILED! => %s", host, python(details(err)))
	}
}

func (t *text) stats(all map[string]*counts) {
	t.banner("PLAY RECAP")
	for _, host := range slices.Sorted(maps.Keys(all)) {
		s := all[host]
		t.line("%-26s : ok=%-4d changed=%-4d unreachable=%-4d failed=%-4d skipped=%-4d rescued=%-4d ignored=%-4d", host, s.ok, s.changed, s.unreachable, s.failures, s.skipped, 0, s.ignored)
	}
	t.line("")
}

// details is what a result says of an error.
func details(err error) map[string]any {
	var gone unreachable
	if errors.As(err, &gone) {
		return map[string]any{"changed": false, "msg": err.Error(), "unreachable": true}
	}
	f, failed := errors.AsType[*Failure](err)
	if !failed || f.Cmd == nil {
		return map[string]any{"changed": false, "msg": err.Error()}
	}
	return map[string]any{"changed": true, "cmd": f.Cmd, "msg": f.Msg, "rc": f.RC, "stdout": f.Stdout, "stderr": f.Stderr,
		"stdout_lines": strings.Split(f.Stdout, "\n"), "stderr_lines": strings.Split(f.Stderr, "\n")}
}

func encode(value any) string {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(value)
	return strings.TrimSpace(out.String())
}

// python writes an object as Python's json.dumps does.
func python(o map[string]any) string {
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(o)) {
		value := encode(o[key])
		if list, isList := o[key].([]string); isList {
			var items []string
			for _, item := range list {
				items = append(items, encode(item))
			}
			value = "[" + strings.Join(items, ", ") + "]"
		}
		parts = append(parts, encode(key)+": "+value)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// lines is ansible.posix.jsonl.
type lines struct {
	mu      sync.Mutex
	out     io.Writer
	serial  int
	current map[string]any // task
}

func stamp() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000000Z") }

func (l *lines) event(kind string, more map[string]any) {
	more["_event"], more["_timestamp"] = kind, stamp()
	_, _ = fmt.Fprintln(l.out, encode(more))
}

func (l *lines) entity(name string) map[string]any {
	l.serial++
	return map[string]any{"id": fmt.Sprintf("02fc0000-0001-1d0d-4f0c-%012x", l.serial), "name": name, "duration": map[string]any{"start": stamp()}}
}

func (l *lines) play(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.event("v2_playbook_on_play_start", map[string]any{"play": l.entity(name), "tasks": []any{}})
}

func (l *lines) task(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.current = l.entity(name)
	l.event("v2_playbook_on_task_start", map[string]any{"task": l.current, "hosts": map[string]any{}})
}

// Both print no event.
func (l *lines) nobody()     {}
func (l *lines) nobodyLeft() {}

func (l *lines) result(host, delegate string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	said := map[string]any{"_ansible_no_log": false, "action": "ansible.builtin.command", "changed": errors.Is(err, ErrChanged)}
	if delegate != "" {
		said["_ansible_delegated_vars"] = map[string]any{"ansible_delegated_host": delegate}
	}
	kind := "v2_runner_on_ok"
	var gone unreachable
	switch {
	case err == nil, errors.Is(err, ErrChanged):
	case errors.Is(err, ErrSkipped):
		kind, said["skipped"], said["skip_reason"] = "v2_runner_on_skipped", true, "Conditional result was False"
	case errors.As(err, &gone):
		kind = "v2_runner_on_unreachable"
		maps.Copy(said, details(err))
	default:
		kind, said["failed"] = "v2_runner_on_failed", true
		maps.Copy(said, details(err))
	}
	task := maps.Clone(l.current)
	l.event(kind, map[string]any{"hosts": map[string]any{host: said}, "task": task})
}

func (l *lines) stats(all map[string]*counts) {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := map[string]any{}
	for host, s := range all {
		out[host] = map[string]int{"changed": s.changed, "failures": s.failures, "ignored": s.ignored, "ok": s.ok, "rescued": 0, "skipped": s.skipped, "unreachable": s.unreachable}
	}
	l.event("v2_playbook_on_stats", map[string]any{"custom_stats": map[string]any{}, "global_custom_stats": map[string]any{}, "stats": out})
}
