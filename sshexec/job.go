package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// Sentinels of jobs, found with errors.Is.
var (
	// ErrNoJob: the host has no job of this name that has begun. The job was removed, or StartJob was interrupted before the job
	// began; call StartJob again.
	ErrNoJob = errors.New("no such job")
	// ErrJobExists: a job of this name runs another command. Final until that job is removed.
	ErrJobExists = errors.New("another command is the job of this name")
	// ErrJobLost: the job ended without an exit code, because the host restarted or another program killed the job. Cancel ends
	// remaining processes of the job. After Remove the job can be started again.
	ErrJobLost = errors.New("job was lost")
	// ErrJobRunning: the call needs an ended job, and processes of the job still run. Call Wait or Cancel first.
	ErrJobRunning = errors.New("job still runs")
)

// Job is a handle of a command that runs independently on the host: it survives the connection, the [Pool] and this process. The
// state of the job is stored on the host, under its name, so any process can get a handle with [Host.Job].
//
// A Job is safe for concurrent use. Make it with [Host.StartJob] or [Host.Job].
type Job struct {
	host  *Host
	name  string
	user  string
	shown string // the command in errors
	grace time.Duration
	// masker hides the secrets of the command, if the handle knows them.
	masker *mask.Masker
}

// Job returns a handle of the job of this name and this user of the host: "" is the login user, "root" is root. It
// sends nothing to the host: use Status to find out whether the job exists.
func (h *Host) Job(name, user string) *Job {
	return h.job(name, Command{Root: user == "root"}, user)
}

func (h *Host) job(name string, c Command, user string) *Job {
	j := &Job{host: h, name: name, user: user, grace: c.Grace, masker: mask.New(h.secrets(c)...)}
	if j.grace <= 0 {
		j.grace = defaultGrace
	}
	j.shown = j.masker.Mask(fmt.Sprintf("job %q", name))
	return j
}

// Name returns the name of the job.
func (j *Job) Name() string { return j.name }

// fail adds the names of the host and the job to an error.
func (j *Job) fail(err error) error {
	return j.host.fail(fmt.Errorf("%s: %w", j.masker.Mask(fmt.Sprintf("job %q", j.name)), err))
}

// as returns c as a command of the job's user.
func (j *Job) as(c Command) Command {
	if c.Root = j.user == "root"; !c.Root {
		c.User = j.user
	}
	return c
}

// script runs one of the scripts in jobscript.go as the job's user. These scripts may be stopped at any point and run again.
func (j *Job) script(ctx context.Context, does, script string, args []string, stdin io.Reader, stdout io.Writer) error {
	return j.host.Exec(ctx, j.as(Command{
		Argv:  append([]string{"/bin/sh", "-c", script, "sh"}, args...),
		Stdin: stdin, Stdout: stdout, Grace: time.Second,
		does: j.masker.Mask(fmt.Sprintf("%s job %q", does, j.name)),
	}))
}
