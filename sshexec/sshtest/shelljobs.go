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

// self returns the process that runs this part of the script: the shell or one of its background jobs.
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

// fork creates the process of a background job. If the job is a single command, runsOneCommand is set and the command runs in
// this process, as after exec.
func (s *shell) fork(ctx context.Context, hc interp.HandlerContext, runsOneCommand bool) int {
	parent := s.self(hc)
	job := s.process.host.processes.add(ctx, parent, s.process.Args, s.process.User)
	if job.runsOneCommand = runsOneCommand; !runsOneCommand {
		close(job.started)
	}
	context.AfterFunc(ctx, func() { // the job ends with its session
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

// awaitStart waits until the jobs have started. Otherwise the end of the session would end a job that is about to leave the
// session with setsid.
func (s *shell) awaitStart(ctx context.Context) {
	s.mu.Lock()
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	for _, job := range jobs {
		select {
		case <-job.started:
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

// wait implements the builtin wait: it returns when the jobs have ended, or when a signal with a trap arrives.
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

// waited returns the jobs that the arguments of wait name, and the exit code if the last argument is not a job.
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

// trap implements the builtin trap for signals. The interpreter implements EXIT and ERR.
func (s *shell) trap(hc interp.HandlerContext, args []string) []string {
	words := args[1:]
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		return args
	}
	action, signals := words[0], words[1:]
	if len(signals) == 0 { // a single operand is a signal that gets its default action
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

// quoted returns a command line with these arguments.
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
