package sshexec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// Sentinels, found with errors.Is. The comment of each says whether retrying can help.
var (
	// ErrConnect: the host could not be reached, did not finish the SSH handshake or opened no session. No command was
	// sent. Retrying helps while the machine is starting.
	ErrConnect = retry.NewError(retry.HostUnreachable, "cannot connect")
	// ErrNotAllowed: Options.Allow refuses the address of the host. The pool did not connect. A retry does not help.
	ErrNotAllowed = errors.New("the address is not allowed")
	// ErrAuth: the host refused every credential. A fresh VM accepts the key after cloud-init has installed it;
	// otherwise the error is final.
	ErrAuth = retry.NewError(retry.HostCredentials, "authentication refused")
	// ErrHostKey: the host does not have the expected key. Final.
	ErrHostKey = errors.New("host key mismatch")
	// ErrSudo: the login user could not become root or Command.User. Final: the password was wrong or missing, or sudo does not
	// allow the command.
	ErrSudo = retry.NewError(retry.HostCredentials, "sudo refused")
	// ErrDisconnected: the connection broke while a command ran or a file was sent. Whether it took effect is unknown:
	// inspect the host before you retry.
	ErrDisconnected = retry.NewError(retry.HostUnreachable, "connection lost")
	// ErrTimeout: the command took longer than Command.Timeout and was ended.
	ErrTimeout = errors.New("command took too long")
	// ErrAbandoned: the call was cancelled because another host of a [Fan] with FailFast had failed.
	ErrAbandoned = errors.New("given up")
	// ErrClosed: the pool is closed. Final.
	ErrClosed = errors.New("pool is closed")
	// ErrTooLarge: the output or the file is larger than the call allows.
	ErrTooLarge = errors.New("too large")
	// ErrDigest: a file on the host differs from the content that was sent, or the content differs from the announced
	// digest. Retrying may help.
	ErrDigest = errors.New("digest mismatch")
)

// LimitError names the limit that the data from a host exceeded. errors.Is(err, ErrTooLarge) is true.
type LimitError struct {
	What  string // for example "bytes of output", "files and directories"
	Limit int64  // the maximum number
}

// Error names the limit.
func (e *LimitError) Error() string {
	return fmt.Sprintf("%v: more than %d %s", ErrTooLarge, e.Limit, e.What)
}

// Is reports whether target is [ErrTooLarge].
func (e *LimitError) Is(target error) bool { return target == ErrTooLarge }

// HostError adds the name of the host to an error. Every error of this package about a host is a *HostError, an *ExitError or a
// *HostKeyError, or wraps one of them.
type HostError struct {
	Host string // Target.Name
	Err  error
}

// Error returns "host: reason". If the reason already begins with the host, it returns only the reason.
func (e *HostError) Error() string {
	reason := e.Err.Error()
	if strings.HasPrefix(reason, e.Host+": ") {
		return reason
	}
	return e.Host + ": " + reason
}

// Unwrap returns the reason.
func (e *HostError) Unwrap() error { return e.Err }

// ExitError reports that a command ran and ended with a code other than zero, or by a signal. Secrets in it are masked.
type ExitError struct {
	Host    string // Target.Name
	Command string // the command line for display
	Code    int    // exit code; if a signal ended the command: 128 + signal number, as the host reports it, or -1
	Signal  string // without SIG, for example "KILL"; "" if the command exited
	Stderr  string // the last lines of standard error
}

// Error names host, command, exit code and the last line of standard error.
func (e *ExitError) Error() string {
	how := "exit code " + strconv.Itoa(e.Code)
	if e.Signal != "" {
		how = "killed by signal " + e.Signal
	}
	msg := fmt.Sprintf("%s: %s: %s", e.Host, e.Command, how)
	if last := lastLine(e.Stderr); last != "" {
		msg += ": " + last
	}
	return msg
}

// CommandFailure returns the fields of the error. Packages that do not import sshexec recognise a failed command by this method.
func (e *ExitError) CommandFailure() (host, command string, exitCode int, stderr string) {
	return e.Host, e.Command, e.Code, e.Stderr
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\r\n \t")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// HostKeyError reports that a host presented an unknown key. errors.Is(err, ErrHostKey) is true. It is final: either
// the address belongs to another machine now, or an attacker intercepts the connection.
type HostKeyError struct {
	Host string // Target.Name
	// Known are the fingerprints that would be accepted, "SHA256:...", each followed by the comment of the key in parentheses if the
	// key has one. It is empty if the host is not known at all.
	Known  []string
	Got    string // presented fingerprint, "" if the host has no key of a known type
	Reason string // for example a revoked key or an expired certificate; "" if the key is simply another one
}

// Error names the host and the fingerprints.
func (e *HostKeyError) Error() string {
	known, got := "known by "+strings.Join(e.Known, ", "), e.Got
	if len(e.Known) == 0 {
		known = "no key is known"
	}
	if got == "" {
		got = "no key of a known type"
	}
	msg := fmt.Sprintf("%s: %v: %s, presented %s", e.Host, ErrHostKey, known, got)
	if e.Reason != "" {
		msg += ": " + e.Reason
	}
	return msg
}

// Is reports whether target is [ErrHostKey].
func (e *HostKeyError) Is(target error) bool { return target == ErrHostKey }
