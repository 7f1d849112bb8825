package sshexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// JobState is the state of a job.
type JobState string

// The states of a job.
const (
	// JobPending: StartJob is running, or was interrupted before the job began. The next StartJob begins the job. Cancel and
	// Remove prevent the job from starting.
	JobPending JobState = "pending"
	// JobRunning: the command runs.
	JobRunning JobState = "running"
	// JobEnded: the command ended, and its exit code is known.
	JobEnded JobState = "ended"
	// JobLost: the job ended without an exit code, because the host restarted or the supervisor of the command was killed.
	JobLost JobState = "lost"
)

// JobStatus is the host's record of a job.
type JobStatus struct {
	Name  string
	State JobState
	// Code is the exit code of an ended job. It is 128 + signal number if a signal ended the command.
	Code int
	// Size is the number of bytes of output.
	Size int64
	// Started and Ended are the times at which the job began and ended, by the clock of the host, in whole seconds. They are
	// zero if the job has not begun or ended.
	Started, Ended time.Time
}

// Status reads the state of the job from the host. The error wraps [ErrNoJob] if the job does not exist.
func (j *Job) Status(ctx context.Context) (JobStatus, error) {
	return j.await(ctx, math.MaxInt64, 0, nil)
}

// Jobs returns all jobs of this user on the host ("" is the login user, "root" is root), in the order of their encoded
// names. If the directory of jobs contains other entries, the error names them, and the jobs are returned nevertheless.
func (h *Host) Jobs(ctx context.Context, user string) ([]JobStatus, error) {
	j := h.Job("", user)
	var out bounded
	if err := h.Exec(ctx, j.as(Command{Argv: []string{"/bin/sh", "-c", jobsScript, "sh"}, Stdout: &out, does: "list jobs"})); err != nil {
		return nil, err
	}
	var jobs []JobStatus
	var foreign []error
	for line := range strings.Lines(out.String()) {
		encoded, status, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		name, ok := decodeJobName(encoded)
		s, err := parseJobStatus(name, status)
		switch {
		case ok && err == nil:
			jobs = append(jobs, s)
		case errors.Is(err, ErrNoJob): // the job was removed meanwhile
		default:
			foreign = append(foreign, h.fail(fmt.Errorf("%s is no job", h.jobPath(encoded, user))))
		}
	}
	return jobs, errors.Join(foreign...)
}

// jobPath returns the path of a job for messages.
func (h *Host) jobPath(encoded, user string) string {
	if user == "root" || user == "" && h.target.User == "root" {
		return "/var/lib/sshexec/jobs/" + encoded
	}
	return "~/.local/state/sshexec/jobs/" + encoded
}

// jobLine matches a line of the scripts about a job: state, exit code, bytes of output, beginning and end in seconds
// since 1970.
var jobLine = regexp.MustCompile(`^(pending|running|ended|lost) (\d{1,3}) (\d{1,18}) (\d{1,11}) (\d{1,11})$`)

var errForeign = errors.New("the entry of this name on the host is not a job")

func parseJobStatus(name, line string) (JobStatus, error) {
	if strings.HasPrefix(line, "absent ") {
		return JobStatus{}, ErrNoJob
	}
	m := jobLine.FindStringSubmatch(line)
	if m == nil {
		return JobStatus{}, errForeign
	}
	var numbers [4]int64
	for i := range numbers {
		n, err := strconv.ParseInt(m[i+2], 10, 64)
		if err != nil {
			return JobStatus{}, errForeign
		}
		numbers[i] = n
	}
	s := JobStatus{Name: name, State: JobState(m[1]), Code: int(numbers[0]), Size: numbers[1]}
	if numbers[2] > 0 {
		s.Started = time.Unix(numbers[2], 0)
	}
	if numbers[3] > 0 {
		s.Ended = time.Unix(numbers[3], 0)
	}
	return s, nil
}

// parse reads the line of a script about the job of this handle.
func (j *Job) parse(line []byte) (JobStatus, error) {
	s, err := parseJobStatus(j.name, string(bytes.TrimSuffix(line, []byte("\n"))))
	if errors.Is(err, errForeign) {
		encoded, _ := encodeJobName(j.name)
		err = fmt.Errorf("%w: %s", err, j.host.jobPath(encoded, j.user))
	}
	if err != nil {
		return s, j.fail(err)
	}
	return s, nil
}
