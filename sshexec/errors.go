package sshexec

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Sentinels, found with errors.Is. The comment of each says whether trying
// again can help.
var (
	// ErrConnect: the host could not be reached, did not finish the SSH handshake
	// or opened no session. Nothing was asked of it. Trying again helps when the
	// machine is starting.
	ErrConnect = errors.New("cannot connect")
	// ErrAuth: the host refused every credential. On a fresh VM this goes away
	// once cloud-init has installed the key; otherwise it is final.
	ErrAuth = errors.New("authentication refused")
	// ErrHostKey: the host is not the one it should be. Final.
	ErrHostKey = errors.New("host key mismatch")
	// ErrSudo: the login user could not become root, or Command.User. Final: the
	// password was wrong, was needed and not given, or sudo does not allow it.
	ErrSudo = errors.New("sudo refused")
	// ErrDisconnected: the connection broke while a command ran or a file was
	// sent. Whether it took effect is unknown: look before trying again.
	ErrDisconnected = errors.New("connection lost")
	// ErrTimeout: the command took longer than Command.Timeout and was ended.
	ErrTimeout = errors.New("command took too long")
	// ErrAbandoned: the call was ended because another host of a [Fan] with
	// FailFast had failed.
	ErrAbandoned = errors.New("given up")
	// ErrClosed: the pool is closed. Final.
	ErrClosed = errors.New("pool is closed")
	// ErrTooLarge: more output or a larger file than the call is made for.
	ErrTooLarge = errors.New("too large")
	// ErrDigest: a file on the host is not what was sent, or what was to be
	// sent is not what was announced. Trying again may help.
	ErrDigest = errors.New("digest mismatch")
)

// HostError names the host an error comes from. Every error of this package
// that concerns a host is a *HostError, an *ExitError or a *HostKeyError, or
// wraps one.
type HostError struct {
	Host string // Target.Name
	Err  error
}

// Error returns "host: reason". A reason that names the host itself is not
// given its name twice.
func (e *HostError) Error() string {
	reason := e.Err.Error()
	if strings.HasPrefix(reason, e.Host+": ") {
		return reason
	}
	return e.Host + ": " + reason
}

// Unwrap returns the reason.
func (e *HostError) Unwrap() error { return e.Err }

// ExitError tells that a command ran and ended with a code other than zero, or
// by a signal. Secrets in it are masked.
type ExitError struct {
	Host    string // Target.Name
	Command string // the command line, for people
	Code    int    // exit code; 128 + signal number, as the host reports it, or -1, when a signal ended it
	Signal  string // without SIG, for example "KILL"; empty when the command exited
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

// CommandFailure returns the fields of the error, for packages that recognise
// a failed command by this method and do not import this one.
func (e *ExitError) CommandFailure() (host, command string, exitCode int, stderr string) {
	return e.Host, e.Command, e.Code, e.Stderr
}

func lastLine(text string) string {
	text = strings.TrimRight(text, "\r\n \t")
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// HostKeyError tells that a host presented a key that it is not known by.
// errors.Is(err, ErrHostKey) holds. It is final: either the address belongs to
// another machine now, or somebody is in between.
type HostKeyError struct {
	Host string // Target.Name
	// Known are the fingerprints that would be accepted, "SHA256:...", each followed by the comment of the key in parentheses if the
	// key has one. It is empty if the host is not known at all.
	Known  []string
	Got    string // fingerprint presented, empty when the host has no key of a known type
	Reason string // why not, unless it is simply another key: revoked, an expired certificate
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
