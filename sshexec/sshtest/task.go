package sshtest

import (
	"context"
	"fmt"
	"maps"
	"path"
	"strings"
	"sync"
)

// task is one process of the host, as /proc shows it.
type task struct {
	table *processes
	pid   int
	start int64 // in hundredths of a second since the host was started

	mu             sync.Mutex
	ppid           int
	group          int
	session        int
	argv           []string
	environ        []string
	user           string
	ctx            context.Context
	cancel         context.CancelFunc
	killedBy       string            // the signal that ends it
	traps          map[string]string // by signal: shell text, or "" to ignore it
	pending        []string          // signals whose traps have not run yet
	noticed        chan struct{}     // has an item when a signal is pending
	onKill         func(signal string)
	detached       bool // lives on when its parent ends
	runsOneCommand bool // a background job of a single command, which runs in this process
	hasJobs        bool // has background jobs, which live on when it ends
	finished       bool
	ended          chan struct{} // closed by end
	started        chan struct{} // closed once it is known whether it will be detached
	parentTask     *task
	code           int
}

// inherit copies the state that a child inherits: ignored signals stay ignored, traps are not inherited.
func (t *task) inherit(parent *task) {
	parent.mu.Lock()
	defer parent.mu.Unlock()
	t.ppid, t.group, t.session = parent.pid, parent.group, parent.session
	for signal, action := range parent.traps {
		if action == "" {
			t.traps[signal] = ""
		}
	}
}

// exec makes the process run another program, as exec(2) does.
func (t *task) exec(argv []string, user string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.argv, t.user = argv, user
	maps.DeleteFunc(t.traps, func(_, action string) bool { return action != "" })
}

// end removes the process from the host.
func (t *task) end(code int) {
	t.table.mu.Lock()
	if t.table.all[t.pid] == t {
		delete(t.table.all, t.pid)
	}
	t.table.mu.Unlock()
	t.markStarted()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return
	}
	t.finished, t.code = true, code
	t.cancel()
	close(t.ended)
}

// keepJobs lets the background jobs of the process live on when it ends, until the end of its session.
func (t *task) keepJobs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasJobs = true
}

// context returns a context that ends with ctx or when a signal ends the process.
func (t *task) context(ctx context.Context) (context.Context, func()) {
	t.mu.Lock()
	own := t.ctx
	t.mu.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(own, cancel)
	return ctx, func() {
		stop()
		t.mu.Lock()
		defer t.mu.Unlock()
		if !t.hasJobs {
			cancel()
		}
	}
}

// detach keeps the process until the host stops, in a new session if ownSession is set.
func (t *task) detach(ownSession bool) context.Context {
	life := t.table.life()
	defer t.markStarted()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.cancel = context.WithCancel(life)
	t.detached = true
	if ownSession {
		t.session, t.group = t.pid, t.pid
	}
	return t.ctx
}

// markStarted records that the process and its parents have started. From now on the end of the session ends the process,
// unless it is detached.
func (t *task) markStarted() {
	for ; t != nil; t = t.parentTask {
		t.mu.Lock()
		select {
		case <-t.started:
		default:
			close(t.started)
		}
		t.mu.Unlock()
	}
}

func (t *task) isDetached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.detached
}

// stat returns the content of /proc/PID/stat. It fills in the fields that identify the process; the rest of the 52 fields are 0.
func (t *task) stat() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return fmt.Sprintf("%d (%s) S %d %d %d%s %d%s\n", t.pid, t.comm(), t.ppid, t.group, t.session,
		strings.Repeat(" 0", 15), t.start, strings.Repeat(" 0", 30))
}

func (t *task) comm() string {
	name := path.Base(t.argv[0])
	return name[:min(len(name), 15)]
}

func (t *task) cmdline() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.argv, "\x00") + "\x00"
}

// setEnviron sets the environment that /proc shows.
func (t *task) setEnviron(environ []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.environ = environ
}

func (t *task) environment() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.environ) == 0 {
		return ""
	}
	return strings.Join(t.environ, "\x00") + "\x00"
}

func (t *task) parent() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ppid
}

func (t *task) owner() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.user
}
