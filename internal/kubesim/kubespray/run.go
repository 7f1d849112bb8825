package kubespray

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec"
)

// run is one run of a playbook.
type run struct {
	server    Server
	call      *program.Call
	inventory *inventory
	limit     []string // hosts of --limit; nil: all
	extra     map[string]any
	config    string // ansible.cfg
	pool      *sshexec.Pool

	mu     sync.Mutex
	recap  map[string]map[string]int
	failed bool
}

// errEnded ends a playbook whose failures have been printed.
var errEnded = errors.New("the run has ended")

// event prints a line as the callback ansible.posix.jsonl does.
func (r *run) event(kind string, more map[string]any) {
	more["_event"] = kind
	line, _ := json.Marshal(more) // maps, texts and numbers
	r.call.Printf("%s\n", line)
}

func (r *run) play(name string) {
	r.event("v2_playbook_on_play_start", map[string]any{"play": map[string]any{"name": name}})
}

// limited returns the hosts that --limit names.
func (r *run) limited(hosts []string) []string {
	return slices.DeleteFunc(slices.Clone(hosts), func(host string) bool { return r.limit != nil && !slices.Contains(r.limit, host) })
}

// task runs do for every host of a play, a few at once. It ends the run if do fails for a host (any_errors_fatal, as in kubespray).
func (r *run) task(ctx context.Context, name string, hosts []string, do func(ctx context.Context, h host) (changed bool, err error)) error {
	return r.each(ctx, 5, name, hosts, do)
}

// serial is task for one host after the other.
func (r *run) serial(ctx context.Context, name string, hosts []string, do func(context.Context, host) (bool, error)) error {
	return r.each(ctx, 1, name, hosts, do)
}

func (r *run) each(ctx context.Context, forks int, name string, hosts []string, do func(context.Context, host) (bool, error)) error {
	if len(hosts) == 0 {
		return nil
	}
	r.event("v2_playbook_on_task_start", map[string]any{"task": map[string]any{"name": name}})
	var running sync.WaitGroup
	slots := make(chan struct{}, forks)
	for _, name := range hosts {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			changed := false
			h, err := r.host(name)
			if err == nil {
				changed, err = do(ctx, h)
			}
			if ctx.Err() == nil {
				r.result(name, changed, err)
			}
		})
	}
	running.Wait()
	if r.failed {
		return errEnded
	}
	return ctx.Err()
}

// fail ends the run with a failed task on the Ansible server.
func (r *run) fail(play, task, format string, args ...any) error {
	r.play(play)
	r.event("v2_playbook_on_task_start", map[string]any{"task": map[string]any{"name": task}})
	r.result("localhost", false, fmt.Errorf(format, args...))
	return errEnded
}

// result prints and counts how a task ended on a host.
func (r *run) result(host string, changed bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.recap[host] == nil {
		r.recap[host] = map[string]int{}
	}
	count := r.recap[host]
	kind, result := "v2_runner_on_ok", map[string]any{"changed": changed}
	_, unreached := errors.AsType[unreachable](err)
	switch {
	case err == nil:
		count["ok"]++
		if changed {
			count["changed"]++
		}
	case unreached:
		kind, result["msg"] = "v2_runner_on_unreachable", err.Error()
		count["unreachable"]++
	default:
		kind, result["msg"] = "v2_runner_on_failed", err.Error()
		count["failures"]++
		if ended, is := errors.AsType[*sshexec.ExitError](err); is {
			result["msg"], result["stderr"] = "non-zero return code", ended.Stderr
		}
	}
	r.failed = r.failed || err != nil
	r.event(kind, map[string]any{"hosts": map[string]any{host: result}})
}

// end prints the counts of all hosts, and returns the exit code of the program.
func (r *run) end() error {
	r.event("v2_playbook_on_stats", map[string]any{"stats": r.recap})
	if r.failed {
		return program.ExitError{Code: 2}
	}
	return nil
}

// host is a host of the inventory.
type host struct {
	*sshexec.Host
	name string
}

func (r *run) host(name string) (host, error) {
	t, err := r.login(name)
	if err != nil {
		return host{}, err
	}
	return host{r.pool.Host(t), name}, nil
}

// run runs a program as root and returns its output.
func (h host) run(ctx context.Context, argv ...string) (string, error) {
	return h.do(ctx, sshexec.Command{Argv: argv})
}

func (h host) do(ctx context.Context, c sshexec.Command) (string, error) {
	c.Root = true
	out, err := h.Output(ctx, c)
	switch {
	case errors.Is(err, sshexec.ErrHostKey):
		err = unreachable("REMOTE HOST IDENTIFICATION HAS CHANGED! Host key verification failed.")
	case errors.Is(err, sshexec.ErrConnect), errors.Is(err, sshexec.ErrAuth), errors.Is(err, sshexec.ErrDisconnected):
		err = unreachable(err.Error())
	}
	return string(out), err
}

// changes runs a program that changes something.
func (h host) changes(ctx context.Context, argv ...string) (changed bool, err error) {
	_, err = h.run(ctx, argv...)
	return true, err
}

// put writes a file, and runs a program if the file had another content.
func (h host) put(ctx context.Context, name, content string, argv ...string) (changed bool, err error) {
	if was, err := h.run(ctx, "sh", "-c", `cat "$1" 2>/dev/null || true`, "sh", name); err != nil || was == content {
		return false, err
	}
	_, err = h.do(ctx, sshexec.Command{Argv: []string{"sh", "-c", `mkdir -p "$(dirname "$1")" && cat >"$1.ansible" && mv -f "$1.ansible" "$1"`, "sh", name}, Stdin: bytes.NewReader([]byte(content))})
	if err != nil || len(argv) == 0 {
		return true, err
	}
	return h.changes(ctx, argv...)
}

// does reports whether a program ends with 0.
func (h host) does(ctx context.Context, argv ...string) (bool, error) {
	_, err := h.run(ctx, argv...)
	if _, ended := errors.AsType[*sshexec.ExitError](err); ended {
		return false, nil
	}
	return err == nil, err
}

// line is run without the line break at the end of the output.
func (h host) line(ctx context.Context, argv ...string) (string, error) {
	out, err := h.run(ctx, argv...)
	return strings.TrimSpace(out), err
}
