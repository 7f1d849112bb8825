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

// Cancel ends the job and waits until none of its processes runs. It sends TERM to the command and everything that the
// command started, and KILL after a grace period to the processes that are left. The grace period is the Command.Grace
// of StartJob, by default 5 s. Cancel finds the processes in the session of the job, the processes that inherited its
// environment, also in other sessions, and their children. If the login user may not kill a process, for example one
// that sudo started, Cancel waits until ctx ends and names the process.
//
// If the job has ended, Cancel ends the processes that it left in the background. If the job does not exist, Cancel
// does nothing. Cancel reconnects when the connection breaks, until ctx ends. Afterwards the job still exists, with the
// state Ended and usually exit code 143 (TERM) or 137 (KILL), until Remove.
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

// Remove deletes the data of the job on the host. It does nothing if the job does not exist. The error wraps
// [ErrJobRunning] if the job runs, or if it was lost and some of its processes still run: call Cancel first. Processes
// that an ended job left in the background continue to run.
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
