package sshexec

import (
	"bytes"
	"context"
	"strings"
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
	if stoppable {
		r.awaitBegin(grace / 2)
	}
	r.signal(ctx, ssh.SIGTERM, grace, stoppable)
	select {
	case <-r.done:
		return
	case <-timer.C:
	}
	r.signal(ctx, ssh.SIGKILL, grace, stoppable)
	_ = r.session.Close()
}

// awaitBegin waits for a command of root to tell its process id, which it does
// first of all: what it has started already could not be found without.
func (r *process) awaitBegin(limit time.Duration) {
	if r.gate == nil {
		return
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.gate.begun:
	case err := <-r.done:
		r.done <- err
	case <-timer.C:
	}
}

// signal asks the host to signal the command. sshd does so as the login user,
// which does not reach a process of root, or only its sudo, which passes the
// signal on to the command but not to what that started: a command of root is
// signalled by another one.
func (r *process) signal(ctx context.Context, signal ssh.Signal, limit time.Duration, stoppable bool) {
	pid, begun := r.pid()
	if !begun || !stoppable || r.signalRoot(ctx, signal, limit, pid) != nil {
		_ = r.session.Signal(signal)
	}
}

func (r *process) signalRoot(ctx context.Context, signal ssh.Signal, limit time.Duration, pid string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	ctx, ended := context.WithCancel(ctx)
	defer ended()
	go func() { // the command may end before the one that signals it
		select {
		case err := <-r.done:
			r.done <- err
			ended()
		case <-ctx.Done():
		}
	}()
	var group bytes.Buffer
	kill := Command{Argv: []string{"/bin/sh", "-c", killScript, "sh", string(signal), pid, r.group}, Root: true, Stdout: &group}
	err := r.host.exec(ctx, kill, false)
	// When the command ends by TERM and something it started does not, only
	// the group is left to send KILL to.
	r.group = strings.TrimSpace(group.String())
	return err
}

// pid returns the process id of a command that has begun under sudo.
func (r *process) pid() (string, bool) {
	if r.gate == nil {
		return "", false
	}
	select {
	case <-r.gate.begun:
		return r.gate.pid, true
	default:
		return "", false
	}
}
