package sshtest

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// processes are what runs on a host since it was started.
type processes struct {
	mu     sync.Mutex
	next   int
	all    map[int]*task
	boot   time.Time
	bootID string
	ctx    context.Context // ends when the host goes down
	cancel context.CancelFunc
}

// newProcesses returns the processes of a host that has just been started.
func newProcesses(ctx context.Context) *processes {
	p := &processes{next: 1000}
	p.begin(ctx)
	return p
}

// bootTime is how long a host seems to be up when it begins: nothing a real one
// runs was started at 0.
const bootTime = 10 * time.Second

func (p *processes) begin(ctx context.Context) {
	p.all = map[int]*task{}
	p.boot = time.Now().Add(-bootTime)
	p.bootID = uuid.NewString()
	p.ctx, p.cancel = context.WithCancel(ctx)
}

// reboot ends everything, and starts anew.
func (p *processes) reboot(ctx context.Context) {
	p.mu.Lock()
	tasks := slices.Collect(maps.Values(p.all))
	p.cancel()
	p.begin(ctx)
	p.mu.Unlock()
	for _, t := range tasks {
		t.signal("KILL")
	}
}

func (p *processes) life() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ctx
}

// task is one process. Its numbers are those that the host shows.
type task struct {
	table *processes
	pid   int
	start int64 // in hundredths of a second since the host was started

	mu         sync.Mutex
	ppid       int
	group      int
	session    int
	argv       []string
	environ    []string
	user       string
	ctx        context.Context
	cancel     context.CancelFunc
	killedBy   string            // the signal that ends it
	traps      map[string]string // by signal: shell text, or "" to ignore it
	pending    []string          // signals that a trap waits to see
	noticed    chan struct{}     // has an item when a signal is pending
	onKill     func(signal string)
	detached   bool // lives on when what started it ends
	stands     bool // for the one program that it runs
	hasJobs    bool // in the background, which live on when it ends
	finished   bool
	ended      chan struct{} // closed by end
	settled    chan struct{} // closed once it is known whether it will be detached
	parentTask *task
	code       int
}

// add starts a process as a child of parent, or of nobody as the leader of a
// session.
func (p *processes) add(ctx context.Context, parent *task, argv []string, user string) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	t := &task{
		table: p, pid: p.next, start: int64(time.Since(p.boot) / (10 * time.Millisecond)), ppid: 1,
		group: p.next, session: p.next, argv: argv, user: user,
		traps: map[string]string{}, noticed: make(chan struct{}, 1), ended: make(chan struct{}), settled: make(chan struct{}), parentTask: parent,
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	if parent != nil {
		t.inherit(parent)
	}
	p.all[t.pid] = t
	return t
}

// inherit takes over what a child has of its parent: signals that are ignored
// stay so, those with a trap do not.
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

// end takes the process off the host.
func (t *task) end(code int) {
	t.table.mu.Lock()
	if t.table.all[t.pid] == t {
		delete(t.table.all, t.pid)
	}
	t.table.mu.Unlock()
	t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.finished {
		return
	}
	t.finished, t.code = true, code
	t.cancel()
	close(t.ended)
}

// signalNumbers are the signals that can be sent to a process.
var signalNumbers = map[string]int{
	"HUP": 1, "INT": 2, "QUIT": 3, "ABRT": 6, "KILL": 9, "USR1": 10, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CONT": 18,
}

// signal does what the signal does to the process.
func (t *task) signal(signal string) {
	if signal == "CONT" {
		return // nothing here ever stops
	}
	t.mu.Lock()
	action, trapped := t.traps[signal]
	switch {
	case trapped && signal != "KILL":
		if action != "" {
			t.pending = append(t.pending, signal)
			select {
			case t.noticed <- struct{}{}:
			default:
			}
		}
		t.mu.Unlock()
		return
	case t.killedBy == "" || signal == "KILL":
		t.killedBy = signal
	}
	t.cancel()
	onKill := t.onKill
	t.mu.Unlock()
	if onKill != nil {
		onKill(signal)
	}
	if signal == "KILL" {
		t.end(exitKilled)
	}
}

// killed returns the exit code of a process that a signal has ended; false when
// none has.
func (t *task) killed() (code int, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return 128 + signalNumbers[t.killedBy], t.killedBy != ""
}

// keepJobs lets what the process has started in the background live on when it
// ends, as long as its session.
func (t *task) keepJobs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.hasJobs = true
}

// context returns ctx, ended also by a signal.
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

// trap says what a signal does from now on; reset makes it end the process.
func (t *task) trap(signal, action string, reset bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if reset {
		delete(t.traps, signal)
		return
	}
	t.traps[signal] = action
}

// due returns the text of the traps of the signals that have come.
func (t *task) due() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text []string
	for _, signal := range t.pending {
		if action := t.traps[signal]; action != "" {
			text = append(text, action)
		}
	}
	t.pending = nil
	select {
	case <-t.noticed:
	default:
	}
	return strings.Join(text, "\n")
}

// detach lets the process live as long as the host is up, in its own session
// if asked.
func (t *task) detach(ownSession bool) context.Context {
	life := t.table.life()
	defer t.settle()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ctx, t.cancel = context.WithCancel(life)
	t.detached = true
	if ownSession {
		t.session, t.group = t.pid, t.pid
	}
	return t.ctx
}

// settle says that the process, or what it is the beginning of, has started: a
// session that ends now ends it too, unless it is detached.
func (t *task) settle() {
	for ; t != nil; t = t.parentTask {
		t.mu.Lock()
		select {
		case <-t.settled:
		default:
			close(t.settled)
		}
		t.mu.Unlock()
	}
}

func (t *task) isDetached() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.detached
}

// find returns the processes that a program kill means: one, or a group when
// the number is negative.
func (p *processes) find(pid int) []*task {
	p.mu.Lock()
	defer p.mu.Unlock()
	var found []*task
	for _, t := range p.all {
		t.mu.Lock()
		if t.pid == pid || pid < -1 && t.group == -pid {
			found = append(found, t)
		}
		t.mu.Unlock()
	}
	slices.SortFunc(found, func(a, b *task) int { return cmp.Compare(a.pid, b.pid) })
	return found
}

// stat returns /proc/PID/stat: of its 52 fields those that tell who the process
// is, zero for the rest.
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

// setEnviron says what /proc shows of the environment.
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
