package sshexec

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// cancelWait bounds how long a command on the host waits for the end of a job.
const cancelWait = 10 * time.Second

// Cancel ends the job: TERM to the command and everything it started, after a
// grace period KILL to whatever is left, and waits until nothing of it runs. The
// grace period is the Command.Grace of StartJob, by default 5 s. Found is what
// runs in the session of the job, what inherited its environment, also in a
// session of its own, and what these started. Where the login user may not kill a
// process, such as one that sudo started, Cancel waits until ctx ends and says
// which it is.
//
// Of a job that ended, what it left running in the background is ended. Nothing
// happens when there is none. It connects anew whenever the connection breaks,
// until ctx ends. Afterwards the job is still there: Ended, usually with exit code
// 143 (TERM) or 137 (KILL), until Remove.
func (j *Job) Cancel(ctx context.Context) error {
	encoded, err := encodeJobName(j.name)
	if err != nil {
		return j.fail(err)
	}
	signal, begun, left := "TERM", time.Now(), ""
	err = j.persist(ctx, func() (bool, error) {
		wait := cancelWait
		if signal != "KILL" {
			wait = max(0, min(wait, j.grace-time.Since(begun)))
		}
		var said bounded
		args := []string{encoded, signal, strconv.FormatInt(wait.Milliseconds()/100, 10)}
		if err := j.script(ctx, "cancel", cancelScript, args, nil, &said); err != nil {
			return false, err
		}
		processes, line, _ := bytes.Cut(said.Bytes(), []byte("\n"))
		s, err := j.parse(line)
		if errors.Is(err, ErrNoJob) {
			return true, nil
		}
		left = strings.Join(strings.Fields(string(processes)), " ")
		signal = "0"
		if time.Since(begun) >= j.grace {
			signal = "KILL"
		}
		return s.State != JobRunning && left == "", err
	})
	if err != nil && ctx.Err() != nil && left != "" {
		return fmt.Errorf("%w: still running: %s", err, left)
	}
	return err
}

// Remove forgets the job: the host keeps nothing of it. Nothing happens when
// there is none. The error wraps [ErrJobRunning] when it runs, or when it was
// lost and something of it still runs: Cancel first. What an ended job left in
// the background goes on.
func (j *Job) Remove(ctx context.Context) error {
	encoded, err := encodeJobName(j.name)
	if err != nil {
		return j.fail(err)
	}
	var said bounded
	if err := j.script(ctx, "remove", removeScript, []string{encoded, rand.Text()}, nil, &said); err != nil {
		return err
	}
	processes, line, _ := bytes.Cut(said.Bytes(), []byte("\n"))
	s, err := j.parse(line)
	switch left := strings.Fields(string(processes)); {
	case errors.Is(err, ErrNoJob):
		return nil
	case err != nil:
		return err
	case s.State == JobRunning:
		return j.fail(ErrJobRunning)
	case len(left) > 0:
		return j.fail(fmt.Errorf("%w: it was lost, but not its processes %s", ErrJobRunning, strings.Join(left, " ")))
	}
	return nil
}
