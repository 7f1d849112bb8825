package sshtest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"
)

// processes are the running processes of a host since its last start.
type processes struct {
	mu     sync.Mutex
	next   int
	all    map[int]*task
	boot   time.Time
	bootID string
	ctx    context.Context // ends when the host stops
	cancel context.CancelFunc
}

// newProcesses returns the processes of a host that has just been started.
func newProcesses(ctx context.Context) *processes {
	p := &processes{next: 1000}
	p.begin(ctx)
	return p
}

// bootTime is the uptime of a host when it starts. On a real host no process has the start time 0.
const bootTime = 10 * time.Second

func (p *processes) begin(ctx context.Context) {
	p.all = map[int]*task{}
	p.boot = time.Now().Add(-bootTime)
	p.bootID = uuid.NewString()
	p.ctx, p.cancel = context.WithCancel(ctx)
}

// reboot ends all processes and resets the table.
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

// add starts a process as a child of parent or, if parent is nil, as the leader of a session.
func (p *processes) add(ctx context.Context, parent *task, argv []string, user string) *task {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.next++
	t := &task{
		table: p, pid: p.next, start: int64(time.Since(p.boot) / (10 * time.Millisecond)), ppid: 1,
		group: p.next, session: p.next, argv: argv, user: user,
		traps: map[string]string{}, noticed: make(chan struct{}, 1), ended: make(chan struct{}), started: make(chan struct{}), parentTask: parent,
	}
	t.ctx, t.cancel = context.WithCancel(ctx)
	if parent != nil {
		t.inherit(parent)
	}
	p.all[t.pid] = t
	return t
}

// find returns the processes that the operand of kill addresses: one process, or a process group if the number is negative.
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
