package sshtest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

// self is the process that runs this part of the script: the shell, or a job
// of it in the background.
func (s *shell) self(hc interp.HandlerContext) *task {
	if pid, err := strconv.Atoi(hc.Env.Get(varSelf).String()); err == nil {
		if job := s.job(pid); job != nil {
			return job
		}
	}
	return s.process.task
}

func (s *shell) job(pid int) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.jobs[pid]
}

// fork makes the process of a background job. One that is a single command will
// be that command.
func (s *shell) fork(ctx context.Context, hc interp.HandlerContext, stands bool) int {
	parent := s.self(hc)
	job := s.process.host.processes.add(ctx, parent, s.process.Args, s.process.User)
	if job.stands = stands; !stands {
		close(job.settled)
	}
	context.AfterFunc(ctx, func() { // with the session
		if !job.isDetached() {
			job.end(exitKilled)
		}
	})
	s.process.task.keepJobs()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.jobs[job.pid] = job
	return job.pid
}

// settle waits until the jobs have really started: the end of the session would
// reach one that is about to leave it.
func (s *shell) settle(ctx context.Context) {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	for _, job := range jobs {
		select {
		case <-job.settled:
		case <-ctx.Done():
			return
		}
	}
}

// exited ends the process of a background job.
func (s *shell) exited(hc interp.HandlerContext, code string) {
	n, _ := strconv.Atoi(code)
	if job := s.self(hc); job != s.process.task {
		if killed, ok := job.killed(); ok {
			n = killed
		}
		job.end(n)
	}
}

// wait is the builtin: it waits for jobs, or for a signal that has a trap.
func (s *shell) wait(ctx context.Context, hc interp.HandlerContext, pids []string) error {
	self := s.self(hc)
	jobs, code := s.waited(hc, self, pids)
	for _, job := range jobs {
		select {
		case <-job.ended:
			job.mu.Lock()
			code = job.code
			job.mu.Unlock()
		case <-self.noticed:
			return interp.ExitStatus((128 + self.firstPending()) & 0xff)
		case <-ctx.Done():
			return interp.ExitStatus(exitKilled)
		}
	}
	if len(pids) == 0 || code == 0 {
		return nil
	}
	return interp.ExitStatus(code & 0xff)
}

// waited returns the jobs that wait means, and its code when the last of them
// is none.
func (s *shell) waited(hc interp.HandlerContext, self *task, pids []string) (jobs []*task, code int) {
	if len(pids) == 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, pid := range slices.Sorted(maps.Keys(s.jobs)) {
			if s.jobs[pid].parent() == self.pid {
				jobs = append(jobs, s.jobs[pid])
			}
		}
		return jobs, 0
	}
	for _, text := range pids {
		code = 0
		pid, _ := strconv.Atoi(text)
		if job := s.job(pid); job != nil && job.parent() == self.pid {
			jobs = append(jobs, job)
			continue
		}
		_, _ = fmt.Fprintf(hc.Stderr, "wait: pid %s is not a child of this shell\n", text)
		code = exitNotFound
	}
	return jobs, code
}

// trap is the builtin for signals; EXIT and ERR are left to the interpreter.
func (s *shell) trap(hc interp.HandlerContext, args []string) []string {
	words := args[1:]
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return args
	}
	action, signals := words[0], words[1:]
	if len(signals) == 0 { // one operand: back to the default
		action, signals = "-", words
	}
	rest := []string{"trap", changed(action)}
	for _, name := range signals {
		if name == "0" {
			name = "EXIT"
		}
		signal, err := signalName(name)
		if err != nil {
			rest = append(rest, name)
			continue
		}
		s.self(hc).trap(signal, action, action == "-")
	}
	if len(rest) == 2 {
		return []string{"true"}
	}
	return rest
}

// signalName returns the name of a signal without SIG, given by name or number.
func signalName(text string) (string, error) {
	name := strings.TrimPrefix(strings.ToUpper(text), "SIG")
	for signal, number := range signalNumbers {
		if name == signal || name == strconv.Itoa(number) {
			return signal, nil
		}
	}
	return "", fmt.Errorf("%s: invalid signal specification", text)
}

func (t *task) firstPending() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pending) == 0 {
		return signalNumbers["TERM"]
	}
	return signalNumbers[t.pending[0]]
}

// quoted returns a command line that gives these arguments.
func quoted(args []string) string {
	words := make([]string, len(args))
	for i, arg := range args {
		word, err := syntax.Quote(arg, syntax.LangBash)
		if err != nil {
			word = "''"
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// detached runs a program that outlives what starts it, as setsid and nohup do,
// and waits for it unless that ends first.
//
//nolint:contextcheck // it lives as long as the host is up
func (p *Process) detached(ctx context.Context, ownSession, wait bool) int {
	if !wait {
		p.task = p.host.processes.add(ctx, p.task, p.Args, p.User)
	}
	t := p.task
	life := t.detach(ownSession)
	p.Stdin, p.Stdout, p.Stderr = plain(p.Stdin), untapped(p.Stdout), untapped(p.Stderr)
	release := []func(){hold(p.Stdout), hold(p.Stderr)}
	if p.input != "" {
		if f, err := p.FS.Open(p.input); err == nil {
			if in, err := p.host.pipe(life, f); err == nil {
				p.Stdin = in
				release = append(release, func() { _ = in.Close() })
			}
		}
	}
	code := make(chan int, 1)
	p.replaces = true
	run := func() {
		n := p.run(life)
		for _, fn := range release {
			fn()
		}
		t.end(n)
		code <- n
	}
	if !p.host.spawn(run) {
		t.end(exitKilled)
		return exitKilled
	}
	if !wait {
		return 0
	}
	select {
	case n := <-code:
		return n
	case <-ctx.Done():
		return exitKilled
	}
}

func setsid(ctx context.Context, p *Process) int {
	found, args, err := p.parseOptions("fw", true)
	if err != nil || len(args) == 0 {
		return p.usage("a program is required: %v", err)
	}
	next := p.with(args, p.Environ)
	return next.detached(ctx, true, !found.has('f'))
}

func nohup(ctx context.Context, p *Process) int {
	_, args, err := p.parseOptions("", true)
	if err != nil || len(args) == 0 {
		return p.usage("a program is required: %v", err)
	}
	p.task.trap("HUP", "", false)
	return p.with(args, p.Environ).detached(ctx, false, true)
}

// kill sends a signal to processes of the host.
func kill(_ context.Context, p *Process) int {
	signal, pids, err := killArguments(p.Args[1:])
	if err != nil || len(pids) == 0 {
		return p.usage("usage: kill [-s SIGNAL | -SIGNAL] [--] PID...: %v", err)
	}
	code := 0
	for _, text := range pids {
		if err := p.kill(signal, text); err != nil {
			_, _ = fmt.Fprintf(p.Stderr, "kill: (%s) - %v\n", text, err)
			code = 1
		}
	}
	return code
}

func killArguments(args []string) (signal string, pids []string, err error) {
	signal = "TERM"
	switch {
	case len(args) > 1 && args[0] == "-s":
		signal, args = args[1], args[2:]
	case len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && args[0] != "--":
		signal, args = args[0][1:], args[1:]
	}
	if signal != "0" {
		if signal, err = signalName(signal); err != nil {
			return "", nil, err
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	return signal, args, nil
}

func (p *Process) kill(signal, text string) error {
	pid, err := strconv.Atoi(text)
	if err != nil || pid == 0 || pid == -1 {
		return fmt.Errorf("this process id is not supported by this simulated program")
	}
	tasks := p.host.processes.find(pid)
	if len(tasks) == 0 {
		return fmt.Errorf("No such process") //nolint:staticcheck // as programs say it
	}
	allowed := 0
	for _, t := range tasks {
		if p.User != "root" && t.owner() != p.User {
			continue
		}
		allowed++
		if signal != "0" && t != p.task { // last of all, itself
			t.signal(signal)
		}
	}
	if allowed == 0 {
		return fmt.Errorf("Operation not permitted") //nolint:staticcheck // as programs say it
	}
	return nil
}
