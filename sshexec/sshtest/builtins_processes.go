package sshtest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// detached runs a program that outlives the process that starts it, as setsid and nohup do. It waits for the program, but
// no longer than the starting process lives.
//
//nolint:contextcheck // the program lives until the host stops
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
		return errors.New("this process id is not supported by this simulated program")
	}
	tasks := p.host.processes.find(pid)
	if len(tasks) == 0 {
		return errors.New("No such process") //nolint:staticcheck // the text of the C library
	}
	allowed := 0
	for _, t := range tasks {
		if p.User != "root" && t.owner() != p.User {
			continue
		}
		allowed++
		if signal != "0" && t != p.task { // kill does not end itself
			t.signal(signal)
		}
	}
	if allowed == 0 {
		return errors.New("Operation not permitted") //nolint:staticcheck // the text of the C library
	}
	return nil
}
