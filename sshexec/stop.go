package sshexec

import (
	"context"
	"time"

	"golang.org/x/crypto/ssh"
)

// defaultGrace is the time between TERM and KILL.
const defaultGrace = 5 * time.Second

// stop ends a command whose context has ended: TERM, then KILL after the grace
// period, then the session is closed, which ends the input of whatever is left.
func (r *process) stop(ctx context.Context, c Command, stoppable bool) {
	grace := c.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	r.signal(ctx, ssh.SIGTERM, grace, stoppable)
	select {
	case <-r.done:
		return
	case <-timer.C:
	}
	r.signal(ctx, ssh.SIGKILL, grace, stoppable)
	_ = r.session.Close()
}

// signal asks the host to signal the command. sshd does so as the login user,
// which does not reach a process of root: that is signalled by another command.
func (r *process) signal(ctx context.Context, signal ssh.Signal, limit time.Duration, stoppable bool) {
	_ = r.session.Signal(signal)
	if r.gate == nil || !stoppable {
		return
	}
	pid, begun := r.pid()
	if !begun {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	ctx, ended := context.WithCancel(ctx)
	defer ended()
	go func() { // the command may well end by the first signal
		select {
		case err := <-r.done:
			r.done <- err
			ended()
		case <-ctx.Done():
		}
	}()
	kill := Command{Argv: []string{"/bin/sh", "-c", killScript, "sh", string(signal), pid}, Root: true}
	_ = r.host.exec(ctx, kill, false)
}

// pid returns the process id of a command that has begun under sudo.
func (r *process) pid() (string, bool) {
	select {
	case <-r.gate.begun:
		return r.gate.pid, true
	default:
		return "", false
	}
}
