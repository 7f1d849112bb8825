package ansible

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
)

// Reasons of a failed run that lie outside of the playbook.
var (
	errNoRecap = errors.New("its output ends before the recap: the disk of the Ansible server may be full")
	errFiles   = errors.New("its files could not be written: the disk of the Ansible server may be full")
)

// ErrNoHosts reports that a run did nothing, or nothing on a host of Play.Limit: the inventory does not name the host, or
// no play is for it. Ansible itself only warns. A retry succeeds after the inventory names the host.
var ErrNoHosts = errors.New("no play for the hosts")

// Result is the result of a successful run.
type Result struct {
	Recap          map[string]HostRecap // by host
	Started, Ended time.Time            // by the clock of the server, in whole seconds
	Code           int                  // exit code of ansible-playbook: 0
}

// Error reports that a run failed. Its secrets are masked. If Reason is set, the cause lies outside of the playbook.
// Otherwise retry after the causes of the Failures have been fixed.
type Error struct {
	Host     string // the Ansible server
	Playbook string
	Code     int // exit code of ansible-playbook: 2 hosts failed, 4 unreachable; or of the shell that starts ansible-playbook
	// Failures are the failures that the playbook neither ignored nor rescued, in order, at most 1,000.
	Failures []Event
	Last     []Event // the last events before the end
	Output   string  // the last lines of the output
	Recap    map[string]HostRecap
	Reason   error // ErrNoHosts, ErrAbsent, another reason, or nil
	// shown are names of hosts for people, by their names in the inventory.
	shown map[string]string
	// said is the line of the output that best explains the failure.
	said string
}

// shownFailures is how many failures the text of an Error has.
const shownFailures = 3

// Error returns the hosts, tasks and messages in one line.
func (e *Error) Error() string {
	var why string
	switch {
	case len(e.Failures) > 0:
		var parts []string
		for _, f := range e.Failures[:min(len(e.Failures), shownFailures)] {
			f.Host = cmp.Or(e.shown[f.Host], f.Host)
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

// Unwrap returns e.Reason.
func (e *Error) Unwrap() error { return e.Reason }

// CommandFailure implements vnflcm.CommandFailure, so that the problem details of the operation have the Ansible server,
// the playbook and the last lines of the output.
func (e *Error) CommandFailure() (host, command string, exitCode int, stderr string) {
	return e.Host, "ansible-playbook " + e.Playbook, e.Code, e.Output
}

// conclude returns the result of a run. Hosts may forge lines (see reading.startRecap), so a run succeeds only by its exit
// code. Of the output only the last recap is used to turn exit code 0 into a failure.
func (p Play) conclude(host string, status sshexec.JobStatus, r *reading) (*Result, error) {
	reason := p.reason(status.Code, r)
	if status.Code == 0 && reason == nil {
		return &Result{Recap: r.recap, Started: status.Started, Ended: status.Ended}, nil
	}
	return nil, &Error{
		Host: host, Playbook: p.Playbook, Code: status.Code, Failures: r.failed, Last: slices.Clone(r.last.all()),
		Output: strings.Join(r.lines.all(), "\n"), Recap: r.recap, Reason: reason, said: r.said(), shown: p.Names,
	}
}

// reason returns why a run failed, or nil if it succeeded or the cause is a failure on a host.
func (p Play) reason(code int, r *reading) error {
	missing := p.missing(r)
	switch {
	case code == 127:
		return ErrAbsent
	case code == 125 && r.spoken == "":
		return errFiles
	case 128 < code && code <= 128+64: // 250 is an unexpected error in Ansible
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

// noHosts reports whether Ansible's error says that the limit matches no host.
func noHosts(complaint string) bool {
	return strings.Contains(complaint, "no hosts to target") || strings.Contains(complaint, "does not match any hosts")
}

// missing returns the names of the hosts of the limit on which no play ran.
func (p Play) missing(r *reading) (names []string) {
	for _, host := range p.Limit {
		if _, worked := r.recap[host]; !worked {
			names = append(names, cmp.Or(p.Names[host], host))
		}
	}
	return names
}
