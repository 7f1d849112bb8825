package ansiblesim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/kubesim/program"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Run is one run of a playbook.
type Run struct {
	server  *Server
	process *sshtest.Process
	args    *arguments
	vars    *variables
	limit   []string // nil: everybody
	out     callback

	mu     sync.Mutex
	hosts  map[string]*Host
	failed map[string]bool // no longer taken part in
	stats  map[string]*counts
	fatal  bool // the run has ended for all
}

// counts are those of PLAY RECAP.
type counts struct{ ok, changed, unreachable, failures, skipped, ignored int }

// errEnded ends a playbook of which everything has been said.
var errEnded = errors.New("the run has ended")

// playbook is ansible-playbook.
func (s *Server) playbook(ctx context.Context, p *sshtest.Process) error {
	if err := locale(p); err != nil {
		return err
	}
	a, err := parseArguments(p)
	if err != nil {
		return err
	}
	if a.version {
		s.version(p)
		return nil
	}
	if exists, _ := afero.Exists(p.FS, a.playbook); !exists {
		return exit(1, "ERROR! the playbook: %s could not be found", a.playbook)
	}
	book := s.Playbooks[a.playbook]
	if book == nil {
		return fmt.Errorf("ansiblesim: the playbook %s is not simulated", a.playbook)
	}
	r, err := s.newRun(p, a)
	if err != nil || a.syntax {
		return err
	}
	defer r.close()
	if err := book(ctx, r); err != nil && !errors.Is(err, errEnded) {
		return err
	}
	if err := ctx.Err(); err != nil {
		return exit(99, "ERROR! User interrupted execution")
	}
	r.out.stats(r.stats)
	return r.code()
}

func (s *Server) newRun(p *sshtest.Process, a *arguments) (*Run, error) {
	r := &Run{server: s, process: p, args: a, hosts: map[string]*Host{}, failed: map[string]bool{}, stats: map[string]*counts{}}
	var err error
	if r.out, err = s.callback(p); err != nil {
		return nil, err
	}
	keys, err := a.vaultKeys(p)
	if err != nil {
		return nil, err
	}
	extra, err := a.extraVars(p, keys)
	if err != nil {
		return nil, err
	}
	inv, err := readInventory(p, a.inventories, keys)
	if err != nil {
		return nil, err
	}
	if r.vars, err = readVariables(p, inv, extra, keys); err != nil {
		return nil, err
	}
	if len(a.limits) > 0 {
		r.limit = []string{}
		for _, limit := range a.limits {
			if r.limit, err = r.match(limit, r.limit); err != nil {
				return nil, err
			}
		}
		if len(r.limit) == 0 {
			return nil, exit(1, "ERROR! Specified inventory, host pattern and/or --limit leaves us with no hosts to target.")
		}
	}
	return r, nil
}

// match adds the hosts of a pattern of names of hosts and groups.
func (r *Run) match(pattern string, to []string) ([]string, error) {
	for _, name := range strings.FieldsFunc(pattern, func(c rune) bool { return c == ',' || c == ':' }) {
		name = strings.TrimSpace(name)
		if strings.ContainsAny(name, "*!&[~@") {
			return nil, fmt.Errorf("ansiblesim: the pattern %q is not simulated", pattern)
		}
		found := r.Group(name)
		if r.vars.inv.hosts[name] != nil {
			found = []string{name}
		} else if r.vars.inv.groups[name] == nil {
			_, _ = fmt.Fprintf(r.process.Stderr, "[WARNING]: Could not match supplied host pattern, ignoring: %s\n", name)
		}
		for _, host := range found {
			if !slices.Contains(to, host) {
				to = append(to, host)
			}
		}
	}
	return to, nil
}

// code is that with which the program ends (executor/task_queue_manager.py): where the first error ends everything, hosts
// that are unreachable have failed.
func (r *Run) code() error {
	failed, gone := false, false
	for _, s := range r.stats {
		failed, gone = failed || s.failures > 0, gone || s.unreachable > 0
	}
	switch {
	case r.fatal:
		return program.ExitError{Code: 2}
	case gone:
		return program.ExitError{Code: 4}
	case failed:
		return program.ExitError{Code: 2}
	}
	return nil
}

func (r *Run) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, h := range r.hosts {
		h.close()
	}
}

// Group are the hosts of a group of the inventory, nil when there is none.
func (r *Run) Group(name string) []string {
	if r.vars.inv.groups[name] == nil {
		return nil
	}
	return r.vars.inv.members(name)
}

// Has reports whether the inventory has a host.
func (r *Run) Has(host string) bool { return r.vars.inv.hosts[host] != nil }

// Extra is an extra variable as text, "" when it is not given.
func (r *Run) Extra(name string) (string, error) { return r.vars.extra.text(name) }

// Vars are the variables of a host, as text; of "" those of all.
func (r *Run) Vars(host string) func(name string) (string, error) { return r.vars.of(host).text }

// List is a variable of a host that is a list, as texts.
func (r *Run) List(host, name string) ([]string, error) {
	value, _, err := r.vars.of(host).get(name)
	if err != nil || value == nil {
		return nil, err
	}
	items, isList := value.([]any)
	if !isList {
		return nil, fmt.Errorf("%s is no list", name)
	}
	var out []string
	for _, item := range items {
		out = append(out, plainText(item))
	}
	return out, nil
}

// Fail ends the run with a failed task on the implicit localhost.
func (r *Run) Fail(play, task, format string, args ...any) error {
	r.out.play(play)
	r.out.task(task)
	r.record("localhost", "", &Failure{Msg: fmt.Sprintf(format, args...)})
	r.fatal = true
	return errEnded
}

// Local tells of a task on the Ansible server itself that ended well.
func (r *Run) Local(play, task string) {
	r.out.play(play)
	r.out.task(task)
	r.record("localhost", "", nil)
}

// Warn writes a warning.
func (r *Run) Warn(format string, args ...any) {
	_, _ = fmt.Fprintf(r.process.Stderr, "[WARNING]: "+format+"\n", args...)
}

// Play begins a play on hosts. A play without remaining hosts has none. any_errors_fatal, as in kubespray.
func (r *Run) Play(name string, hosts []string) *Play {
	p := &Play{r: r}
	for _, host := range hosts {
		if (r.limit == nil || slices.Contains(r.limit, host)) && !r.failed[host] {
			p.Hosts = append(p.Hosts, host)
		}
	}
	r.out.play(name)
	if len(p.Hosts) == 0 {
		r.out.nobody()
	}
	return p
}

// Play is one play.
type Play struct {
	r     *Run
	Hosts []string
}

// Task runs on every host of the play, a few at once.
func (p *Play) Task(ctx context.Context, name string, run func(context.Context, *Host) error) error {
	if len(p.Hosts) == 0 {
		return nil
	}
	p.r.out.task(name)
	var running sync.WaitGroup
	slots := make(chan struct{}, forks)
	for _, host := range p.Hosts {
		slots <- struct{}{}
		running.Go(func() {
			defer func() { <-slots }()
			p.r.one(ctx, host, "", run)
		})
	}
	running.Wait()
	return p.r.survivors(ctx)
}

// Delegated runs once for every host of the play, one after the other, on another one.
func (p *Play) Delegated(ctx context.Context, name, to string, run func(ctx context.Context, to *Host, about string) error) error {
	if len(p.Hosts) == 0 {
		return nil
	}
	p.r.out.task(name)
	for _, about := range p.Hosts {
		p.r.one(ctx, about, to, func(ctx context.Context, h *Host) error { return run(ctx, h, about) })
	}
	return p.r.survivors(ctx)
}

// Serial is a Task that runs on one host after the other.
func (p *Play) Serial(ctx context.Context, name string, run func(context.Context, *Host) error) error {
	if len(p.Hosts) == 0 {
		return nil
	}
	p.r.out.task(name)
	for _, host := range p.Hosts {
		p.r.one(ctx, host, "", run)
	}
	return p.r.survivors(ctx)
}

const forks = 5

// one runs a task for a host, on another one if it is delegated.
func (r *Run) one(ctx context.Context, host, to string, run func(context.Context, *Host) error) {
	h, err := r.Host(cmp.Or(to, host))
	if err == nil {
		err = run(ctx, h)
	}
	if ctx.Err() == nil {
		r.record(host, to, err)
	}
}

// survivors ends the run after an error.
func (r *Run) survivors(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(r.failed) == 0 {
		return nil
	}
	r.fatal = true
	r.out.nobodyLeft()
	return errEnded
}

// record keeps what became of a task on a host, and tells of it.
func (r *Run) record(host, to string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.stats[host]
	if s == nil {
		s = &counts{}
		r.stats[host] = s
	}
	var gone unreachable
	switch {
	case err == nil:
		s.ok++
	case errors.Is(err, ErrChanged):
		s.ok++
		s.changed++
	case errors.Is(err, ErrSkipped):
		s.skipped++
	case errors.As(err, &gone):
		s.unreachable++
		r.failed[host] = true
	default:
		s.failures++
		r.failed[host] = true
	}
	r.out.result(host, to, err)
}

// What a task returns when nothing is wrong.
var (
	ErrChanged = errors.New("changed")
	ErrSkipped = errors.New("skipped")
)

// Failure is what a task fails with.
type Failure struct {
	Msg            string
	Cmd            []string
	RC             int
	Stdout, Stderr string
}

func (f *Failure) Error() string { return f.Msg }
