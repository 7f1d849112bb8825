package sshexec

import (
	"context"
	"errors"
	"strconv"
	"time"

	"golang.org/x/crypto/ssh"
)

// defaultGrace is the time between TERM and KILL.
const defaultGrace = 5 * time.Second

// killScript ends the process group or process $1: TERM and, when something of
// it is left after $2 tenths of a second, KILL. It waits on the host, so that a
// child that ignores TERM does not survive the command that made it. Of the ways
// to write a signal and a group, this is the only one that bash, dash and busybox
// have in common.
const killScript = `kill -TERM "$1" || exit; n=$2; ` +
	`while kill -0 "$1" 2>/dev/null; do ` +
	`if [ "$n" -le 0 ]; then kill -KILL "$1"; exit; fi; sleep 0.1 2>/dev/null || { sleep 1; n=$((n - 9)); }; n=$((n - 1)); done`

// stop ends a command whose context has ended. What ends it runs in a session of
// its own: sshd passes signals on as the login user, which does not reach a
// process of root, and it knows nothing of what outlives the command itself.
// Where that does not work, and before the command has told its group, the signal
// goes to the session.
func (r *process) stop(ctx context.Context, c Command, stoppable bool) {
	grace := c.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	begun := stoppable && r.awaitBegin(min(grace, beginMargin))
	var err error
	if begun {
		if err = r.kill(ctx, c, grace); err == nil {
			r.await(grace)
			return
		}
	}
	if !begun || errors.Is(err, ErrConnect) { // there is nothing yet that has to clean up, or it cannot be heard
		grace = min(grace, beginMargin)
	}
	if r.session.signal(ssh.SIGTERM) && !r.await(grace) {
		r.session.signal(ssh.SIGKILL)
	}
}

// beginMargin is how long a command that was ended as it began has to tell its
// group.
const beginMargin = 2 * time.Second

// awaitBegin waits for the command to tell its group, which it does first of
// all: what it has started already could not be found without.
func (r *process) awaitBegin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-r.gate.begun:
	case err := <-r.done:
		r.done <- err
	case <-timer.C:
	}
	return r.gate.hasBegun()
}

// await waits for the command to end.
func (r *process) await(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case err := <-r.done:
		r.done <- err
		return true
	case <-timer.C:
		return false
	}
}

// killMargin is the time that killing takes on a busy host, beside the grace: to
// open a session, and to run.
const killMargin = 5 * time.Second

func (r *process) kill(ctx context.Context, c Command, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+killMargin)
	defer cancel()
	return r.host.exec(ctx, Command{
		Argv: []string{"/bin/sh", "-c", killScript, "sh", r.gate.group, strconv.FormatInt(grace.Milliseconds()/100, 10)},
		Root: c.Root, User: c.User, does: "end " + r.inv.shown,
	}, false)
}
