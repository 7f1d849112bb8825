package ansible

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Reasons that are not of the playbook.
var (
	errNoRecap = errors.New("its output ends before the recap: the disk of the Ansible server may be full")
	errFiles   = errors.New("its files could not be written: the disk of the Ansible server may be full")
)

// ErrNoHosts tells that a run did nothing, or nothing on a host of Play.Limit: the inventory has no such host, or the
// playbook no play for it. Ansible itself only warns. A retry helps once the inventory names the host.
var ErrNoHosts = errors.New("no play for the hosts")

// Result of a run that has ended well.
type Result struct {
	Recap          map[string]HostRecap // by host
	Started, Ended time.Time            // by the clock of the server, in whole seconds
	Code           int                  // exit code of ansible-playbook: 0
}

// Error tells that a run failed. Secrets in it are masked. Of one that cannot be helped by the playbook itself the
// Reason says so; otherwise a retry helps when what the Failures tell of has been seen to.
type Error struct {
	Host     string // the Ansible server
	Playbook string
	Code     int // exit code of ansible-playbook: 2 hosts failed, 4 unreachable; of a shell when it did not come so far
	// Failures are those that the playbook did not let pass, in their order, at most 1,000.
	Failures []Event
	Last     []Event // the last events before the end
	Output   string  // the last lines
	Recap    map[string]HostRecap
	Reason   error // ErrNoHosts, ErrAbsent, another one, or nil
	// said is what Ansible itself complained of.
	said string
}

// shownFailures is how many hosts Error names.
const shownFailures = 3

// Error names the hosts, tasks and messages in one line.
func (e *Error) Error() string {
	var why string
	switch {
	case len(e.Failures) > 0:
		var parts []string
		for _, f := range e.Failures[:min(len(e.Failures), shownFailures)] {
			parts = append(parts, explain(f))
		}
		why = strings.Join(parts, "; ")
		if more := len(e.Failures) - shownFailures; more > 0 {
			why += fmt.Sprintf("; and %d more", more)
		}
	case e.Reason != nil:
		why = fmt.Sprintf("ended with exit code %d: %v", e.Code, e.Reason)
	default:
		why = fmt.Sprintf("ended with exit code %d", e.Code)
		if e.said != "" {
			why += ": " + e.said
		}
	}
	return "ansible: " + path.Base(e.Playbook) + " " + oneLine(why)
}

func explain(f Event) string {
	does := "failed on"
	if f.Kind == Unreachable {
		does = "cannot reach"
	}
	text := does + " " + f.Host
	if f.Task != "" {
		text += " in task " + f.Task
	}
	if f.Message != "" {
		text += ": " + f.Message
	}
	return text
}

// Unwrap returns the Reason.
func (e *Error) Unwrap() error { return e.Reason }

// CommandFailure implements vnflcm.CommandFailure: the problem details of the operation name the Ansible server, the
// playbook and the last lines.
func (e *Error) CommandFailure() (host, command string, exitCode int, stderr string) {
	return e.Host, "ansible-playbook " + e.Playbook, e.Code, e.Output
}

// conclude says how a run ended. Hosts may forge lines (see reading.startRecap): the exit code alone can make a success,
// and of what was read only the last recap can make a failure of that.
func (p Play) conclude(host string, status sshexec.JobStatus, r *reading) (*Result, error) {
	reason := p.reason(status.Code, r)
	if status.Code == 0 && reason == nil {
		return &Result{Recap: r.recap, Started: status.Started, Ended: status.Ended}, nil
	}
	return nil, &Error{
		Host: host, Playbook: p.Playbook, Code: status.Code, Failures: r.failed, Last: slices.Clone(r.last.all()),
		Output: strings.Join(r.lines.all(), "\n"), Recap: r.recap, Reason: reason, said: r.said(),
	}
}

// reason is why a run failed, where that is no failure on a host.
func (p Play) reason(code int, r *reading) error {
	missing := p.missing(r)
	switch {
	case code == 127:
		return ErrAbsent
	case code == 125 && r.spoken == "":
		return errFiles
	case 128 < code && code <= 128+64: // 250 is a mistake within Ansible
		return fmt.Errorf("signal %d ended it", code-128)
	case code == 0 && !r.counted:
		return errNoRecap
	case code == 0 && len(missing) > 0:
		return fmt.Errorf("%w: %s", ErrNoHosts, strings.Join(missing[:min(len(missing), 10)], ", "))
	case code == 0 && len(r.recap) == 0, code != 0 && !r.counted && noHosts(r.complaint):
		return ErrNoHosts
	}
	return nil
}

// noHosts reports whether Ansible complains of a limit without hosts.
func noHosts(complaint string) bool {
	return strings.Contains(complaint, "no hosts to target") || strings.Contains(complaint, "does not match any hosts")
}

// missing are the hosts of the limit that no play has worked on.
func (p Play) missing(r *reading) []string {
	return slices.DeleteFunc(slices.Clone(p.Limit), func(host string) bool {
		_, worked := r.recap[host]
		return worked
	})
}
