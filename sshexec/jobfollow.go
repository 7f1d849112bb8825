package sshexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/vnfkit/vnfkit/internal/retry"
)

const (
	// jobLooks limits the number of times that a command on the host checks a job for changes, to about 15 s. Short commands
	// need no resuming of a stream after a lost connection, and free the session for other users from time to time.
	jobLooks = 24
	// jobBlock and jobBlocks limit the output that one command sends: jobBlocks blocks of jobBlock bytes. If a host sends more,
	// reading stops.
	jobBlock  = 64 << 10
	jobBlocks = 256
)

// Follow writes the output of the job from this offset in bytes on to w, until the job has ended and all output is written. Standard
// output and standard error are in the order in which the command wrote them. Follow returns the offset at which a later call
// continues, also with an error.
//
// It retries whenever the connection breaks or the host kills the command that reads the output, until ctx ends. The
// error wraps [ErrNoJob] if the job does not exist or has not begun, and [ErrJobLost], after the output, if it was
// lost. Follow ignores the exit code: see Wait. Secrets are not masked in the data for w.
func (j *Job) Follow(ctx context.Context, w io.Writer, offset int64) (next int64, err error) {
	next = offset
	if offset < 0 {
		return next, j.fail(fmt.Errorf("offset %d is negative", offset))
	}
	err = j.persist(ctx, func() (bool, error) {
		out := &jobOutput{w: w}
		s, err := j.await(ctx, next, jobLooks, out)
		next += out.written
		switch {
		case err != nil:
			return false, err
		case s.State == JobPending:
			return true, unfinished(j, s)
		case s.Size < next-out.written:
			return false, j.fail(fmt.Errorf("offset %d is behind the end of the output at %d", next, s.Size))
		case s.Size > next && out.written == 0:
			return false, j.fail(errors.New("its output cannot be read"))
		}
		if next < s.Size || s.State == JobRunning {
			return false, nil
		}
		return true, unfinished(j, s)
	})
	return next, err
}

// Wait waits until the job has ended. It returns nil if its exit code is zero, and an *[ExitError] otherwise: its
// Stderr has the last lines of the output, with the secrets that this handle knows masked. The error wraps [ErrJobLost]
// if the job ended without a recorded exit code, and [ErrNoJob] if the job does not exist or has not begun.
//
// It retries as Follow does, until ctx ends. That ends the wait, not the job.
func (j *Job) Wait(ctx context.Context) error {
	return j.persist(ctx, func() (bool, error) {
		s, err := j.await(ctx, math.MaxInt64, jobLooks, nil)
		if err != nil || s.State == JobRunning {
			return false, err
		}
		if s.State != JobEnded || s.Code == 0 {
			return true, unfinished(j, s)
		}
		said := newTail(j.masker)
		// One byte more than tail keeps, so that tail notices that output was cut.
		from := max(0, s.Size-int64(tailBytes+j.masker.Longest()+1))
		if _, err := j.await(ctx, from, 0, said); err != nil {
			return false, err
		}
		return true, &ExitError{Host: j.host.target.Name, Command: j.shown, Code: s.Code, Stderr: said.String()}
	})
}

// unfinished returns the error for a job that neither runs nor has ended.
func unfinished(j *Job, s JobStatus) error {
	switch s.State {
	case JobLost:
		return j.fail(ErrJobLost)
	case JobPending:
		return j.fail(fmt.Errorf("%w: it has not begun", ErrNoJob))
	default:
		return nil
	}
}

// await waits until the job has output after this offset or does not run any more, or until the host has checked looks times. It
// writes the output to w and returns the state of the job.
func (j *Job) await(ctx context.Context, offset int64, looks int, w io.Writer) (JobStatus, error) {
	encoded, err := encodeJobName(j.name)
	if err != nil {
		return JobStatus{}, j.fail(err)
	}
	answer := &jobAnswer{w: w}
	args := []string{
		encoded, strconv.FormatInt(offset, 10), strconv.Itoa(looks),
		strconv.FormatInt(offset/jobBlock, 10), strconv.FormatInt(offset%jobBlock+1, 10), strconv.Itoa(jobBlocks),
	}
	if err := j.script(ctx, "look at", followScript, args, nil, answer); err != nil {
		return JobStatus{}, err
	}
	return j.parse(answer.line)
}

// persist calls ask until it is done or fails, and again when the connection
// breaks or the command that looks at the job is killed, at first after a quarter
// of a second and at last every 5 s.
func (j *Job) persist(ctx context.Context, ask func() (done bool, err error)) error {
	looking := retry.Policy{First: reachFirst, Most: reachLast, If: func(err error) bool {
		return !errors.Is(err, ErrClosed) && interrupted(err)
	}}
	for {
		done, result := false, error(nil)
		err := looking.Do(ctx, func() error {
			if done, result = ask(); done {
				return nil
			}
			return result
		})
		if err != nil {
			return err
		}
		if done {
			return result
		}
	}
}

// interrupted reports whether a request failed for a reason that has nothing to do with the job.
func interrupted(err error) bool {
	exit, ended := errors.AsType[*ExitError](err)
	return errors.Is(err, ErrDisconnected) || errors.Is(err, ErrConnect) || ended && exit.Signal != ""
}

// jobAnswer separates the first line of an answer from the output behind it.
type jobAnswer struct {
	w    io.Writer
	line []byte // the first line with its newline
	sent int    // bytes of output
}

func (a *jobAnswer) Write(p []byte) (int, error) {
	rest := p
	if !bytes.HasSuffix(a.line, []byte("\n")) {
		end := bytes.IndexByte(p, '\n') + 1
		if end == 0 {
			end = len(p)
		}
		a.line, rest = append(a.line, p[:end]...), p[end:]
	}
	if len(a.line) > 1024 {
		return 0, errForeign
	}
	if a.sent += len(rest); a.sent > jobBlock*jobBlocks {
		return 0, &LimitError{What: "bytes of output in one answer", Limit: jobBlock * jobBlocks}
	}
	if a.w != nil && len(rest) > 0 {
		if _, err := a.w.Write(rest); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// jobOutput counts the bytes written to the caller's writer.
type jobOutput struct {
	w       io.Writer
	written int64
}

func (o *jobOutput) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	o.written += int64(n)
	return n, err
}
