package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// defaultGrace is the time between TERM and KILL.
const defaultGrace = 5 * time.Second

// killScript ends the process group or process $1: it sends TERM and, if a process is left after $2 tenths of a second, KILL. It waits
// on the host, so that a child that ignores TERM does not survive the command that started it. After KILL it waits up to $3 tenths of
// a second, because the kernel ends a process only when that process is scheduled. Then zombies do not count, because some hosts reap
// them late or never. This notation of signal and group is the only one that bash, dash and busybox have in common. The first line of
// its output shows that the host answers.
const killScript = `echo; kill -TERM "$1" || exit; g=$1 n=$2 k=; ` +
	`runs() { kill -0 "$g" 2>/dev/null || return 1; if [ -z "$k" ]; then return 0; fi; ` +
	`for f in /proc/[0-9]*/stat; do x=; { read -r x <"$f"; } 2>/dev/null; x="${x##*) }"; y="${x#* * }"; ` +
	`case "$x" in [ZX]*) ;; *) if [ "${y%% *}" = "${g#-}" ]; then return 0; fi;; esac; done; return 1; }; ` +
	`while runs; do ` +
	`if [ "$n" -le 0 ]; then if [ "$k" ]; then exit; fi; kill -KILL "$g"; k=1 n=$3; continue; fi; ` +
	`sleep 0.1 2>/dev/null || { sleep 1; n=$((n - 9)); }; n=$((n - 1)); done`

// answerLimit is the time for which a call whose context has ended waits for an answer of the host.
const answerLimit = 800 * time.Millisecond

// answerPause is the time between two keep-alive requests to a host that ends a command.
const answerPause = 250 * time.Millisecond

// errSilent: the host does not answer, so it is unknown whether the command has ended.
var errSilent = fmt.Errorf("%w: the host does not answer, and the command may still run", ErrDisconnected)

// end ends a command whose context has ended, and waits for its end. If the host does not answer for answerLimit, neither to the
// command that ends this command nor to keep-alive requests, end returns false and the pool continues in the background.
func (r *process) end(ctx context.Context, c Command, stoppable bool) bool {
	begun, stopped := &firstWrite{happened: make(chan struct{})}, make(chan struct{})
	stop := func() {
		r.stop(ctx, c, stoppable, begun)
		close(stopped)
		r.session.close()
	}
	if !r.host.pool.spawn(stop) {
		return true // the pool is closed, and with it all connections
	}
	var answered <-chan struct{} = begun.happened
	for {
		late := time.NewTimer(r.host.pool.answerLimit)
		select {
		case <-stopped:
			late.Stop()
			return true
		case <-late.C:
			r.left = true
			return false
		case <-answered:
			late.Stop()
		}
		pause := time.NewTimer(answerPause)
		select {
		case <-stopped:
			pause.Stop()
			return true
		case <-pause.C:
		}
		answered = r.session.answers()
	}
}

// firstWrite closes its channel at the first Write.
type firstWrite struct {
	happened chan struct{}
	once     sync.Once
}

func (n *firstWrite) Write(p []byte) (int, error) {
	n.once.Do(func() { close(n.happened) })
	return len(p), nil
}

// stop ends a command whose context has ended. It runs a script in a separate session, because sshd sends signals as the login user,
// which cannot signal a process of root, and sshd does not know the processes that outlive the command. If the script cannot run, or
// the command has not reported its process group, stop sends the signal to the session.
func (r *process) stop(ctx context.Context, c Command, stoppable bool, begins io.Writer) {
	grace := c.Grace
	if grace <= 0 {
		grace = defaultGrace
	}
	begun := stoppable && r.awaitBegin(min(grace, beginMargin))
	var err error
	if begun {
		if err = r.kill(ctx, c, grace, begins); err == nil {
			r.await(grace)
			return
		}
	}
	if !begun || errors.Is(err, ErrConnect) { // the command has not begun and has nothing to clean up, or the host cannot be reached
		grace = min(grace, beginMargin)
	}
	if r.session.signal(ssh.SIGTERM) && !r.await(grace) {
		r.session.signal(ssh.SIGKILL)
	}
}

// beginMargin is the time within which a command that is ended during its start has to report its process group.
const beginMargin = 2 * time.Second

// awaitBegin waits until the command has reported its process group, its first output. Without the group the children of the
// command cannot be found.
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

// killMargin is the time that killing needs on a busy host in addition to the grace, to open a session and to run the script.
const killMargin = 5 * time.Second

// killedLimit is the time for which killScript waits until a killed process has disappeared. A process in an uninterruptible system
// call can exceed it. killScript needs the rest of killMargin to start and to report.
const killedLimit = 3 * time.Second

// killListed ends the process group with the program kill, which a sudoers file can list. The session can end before the group, so
// killListed also uses kill -0 to check whether a process of the group is left.
func (r *process) killListed(ctx context.Context, c Command, grace time.Duration, begins io.Writer) error {
	send := func(signal string) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), killMargin)
		defer cancel()
		return r.host.exec(ctx, Command{Argv: []string{"kill", signal, "--", r.gate.group}, Root: c.Root, User: c.User, does: "end " + r.inv.shown}, false)
	}
	if err := send("-TERM"); err != nil {
		return err
	}
	_, _ = begins.Write(nil) // report that the host answers
	gone := func(limit time.Duration) bool {
		for end := time.Now().Add(limit); time.Now().Before(end); _ = retry.Pause(context.WithoutCancel(ctx), min(limit, killEvery)) {
			if exit, ok := errors.AsType[*ExitError](send("-0")); ok && exit.Code == 1 {
				return true // the process does not exist
			}
		}
		return false
	}
	if gone(grace) {
		return nil
	}
	if exit, ok := errors.AsType[*ExitError](send("-KILL")); ok && exit.Code != 1 {
		return exit
	}
	gone(killedLimit) // the kernel removes a killed process only when that process is scheduled
	return nil
}

// killEvery is the time between two checks whether a process group has ended.
const killEvery = 100 * time.Millisecond

// kill runs killScript and writes its output to begins.
func (r *process) kill(ctx context.Context, c Command, grace time.Duration, begins io.Writer) error {
	if r.inv.listed {
		return r.killListed(ctx, c, grace, begins)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace+killMargin)
	defer cancel()
	return r.host.exec(ctx, Command{
		Argv:   []string{"/bin/sh", "-c", killScript, "sh", r.gate.group, tenths(grace), tenths(killedLimit)},
		Stdout: begins, Root: c.Root, User: c.User, does: "end " + r.inv.shown,
	}, false)
}

// tenths returns d in tenths of a second, for killScript.
func tenths(d time.Duration) string { return strconv.FormatInt(d.Milliseconds()/100, 10) }
