package sshexec

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// StartJob starts c as a job: it continues when the connection breaks, the [Pool] is closed or this process ends.
// StartJob returns once the command runs.
//
// StartJob is idempotent: if the host has this job already, running, ended or lost, StartJob starts nothing. A call that was
// interrupted at any point can be repeated; the command does not run twice. The error wraps [ErrJobExists] if the job of this name
// has another command: another Argv, Shell, Env, Dir or content of Stdin. To run the same command again, remove the job first.
//
// The name may be any text of up to 200 bytes: a letter, digit, "_", "-" or "." counts as one byte, any other byte as
// three. Jobs of different users are independent.
//
// The command gets no terminal. Its Env and arguments are passed in a file of mode 0600, as is Stdin, which is sent
// completely before the command starts; both files are removed when it runs. The environment variable SSHEXEC_JOB marks
// the processes of the job for Cancel. Output is stored in one file on the host, which [Job.Follow] reads: Stdout and
// Stderr must be nil, and Timeout zero. This handle masks Secrets; a handle from [Host.Job] does not know them.
func (h *Host) StartJob(ctx context.Context, name string, c Command) (*Job, error) {
	user := c.User
	if c.Root {
		user = "root"
	}
	j := h.job(name, c, user)
	text, err := jobText(c)
	if err != nil {
		return nil, j.fail(err)
	}
	encoded, err := encodeJobName(name)
	if err != nil {
		return nil, j.fail(err)
	}
	j.shown += ": " + c.shown(j.masker)
	token := rand.Text()
	digest := sha256.New()
	_, _ = fmt.Fprintf(digest, "%s\n%s", encoded, text)
	if c.Stdin != nil {
		err = j.script(ctx, "send the input of", spoolScript, []string{token}, io.TeeReader(c.Stdin, digest), nil)
	}
	var said bounded
	if err == nil {
		args := []string{encoded, token, sum(digest), strconv.Itoa(strings.Count(text, "\n")), supervisorScript}
		err = j.script(ctx, "start", startScript, args, strings.NewReader(text), &said)
	}
	switch {
	case errors.Is(err, ErrConnect): // nothing was sent to the host
		return nil, err
	case err != nil:
		return nil, errors.Join(err, j.unspool(ctx, token, errors.Is(err, ErrDisconnected)))
	}
	if err := j.begun(said.Bytes()); err != nil {
		return nil, err
	}
	return j, nil
}

// begun evaluates the output of startScript.
func (j *Job) begun(line []byte) error {
	if bytes.HasPrefix(line, []byte("other ")) {
		return j.fail(ErrJobExists)
	}
	s, err := j.parse(line)
	if err == nil && s.State == JobPending {
		err = j.fail(errors.New("it did not begin in time"))
	}
	return err
}

// unspool removes the files of a failed start, which may contain secrets. If the host cannot be reached, a later start removes
// them. cut is set if the connection broke.
func (j *Job) unspool(ctx context.Context, token string, cut bool) error {
	args := []string{token, ""}
	if cut {
		args[1] = "cut"
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
	defer cancel()
	return j.script(ctx, "clean up after the start of", unspoolScript, args, nil, nil)
}

// jobVariable marks the processes of a job; the scripts use the same name.
const jobVariable = "SSHEXEC_JOB"

// jobText returns shell text that becomes the command, one statement per line.
func jobText(c Command) (string, error) {
	switch {
	case c.Stdout != nil:
		return "", errors.New("a job has no Stdout: Follow reads its output")
	case c.Stderr != nil:
		return "", errors.New("a job has no Stderr: Follow reads its output")
	case c.Timeout != 0:
		return "", errors.New("a job has no Timeout: Cancel ends it")
	}
	if err := c.validate(); err != nil {
		return "", err
	}
	if _, taken := c.Env[jobVariable]; taken {
		return "", fmt.Errorf("environment variable %s belongs to the job itself", jobVariable)
	}
	env, err := exports(c.Env)
	if err != nil {
		return "", err
	}
	argv := c.Argv
	if c.Shell != "" {
		argv = []string{"/bin/sh", "-c", string(c.Shell)}
	}
	var text strings.Builder
	text.WriteString(`_sshexec_nl="$(printf "\n_")"; _sshexec_nl="${_sshexec_nl%_}"` + "\n" + env + "set --")
	for _, arg := range argv {
		text.WriteString(" " + oneLine(arg))
	}
	if c.Dir != "" {
		fmt.Fprintf(&text, "\ncd %s || exit 125", oneLine(c.Dir))
	}
	text.WriteString("\n" + `unset _sshexec_c _sshexec_nl _sshexec_x; exec "$@"` + "\n")
	return text.String(), nil
}
