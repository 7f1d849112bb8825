package sshexec

import (
	"io"
	"regexp"
	"slices"
	"strings"
)

// refused is what sudo says when it does not run a command, in English.
var refused = regexp.MustCompile(`(?m)^(sudo: a (password|terminal) is required|Sorry, user \S+ (is not allowed|may not run)|\S+ is not (in the sudoers file|allowed to run sudo))`)

// notFound is what sudo says when there is no such program. Its exit code is 1 then, and that of a shell 127.
var notFound = regexp.MustCompile(`(?m)^sudo: \S+: command not found\r?$`)

// sudoSaysBytes bounds what is held of a command whose standard error begins as a message of sudo.
const sudoSaysBytes = 4 << 10

// sudoSays holds the standard error of a command that sudo runs itself, if it begins as a message of sudo: only the end of the
// command tells whether sudo has refused it.
type sudoSays struct {
	user string // the login user
	to   io.Writer
	held []byte
	open bool
}

// Write implements io.Writer.
func (s *sudoSays) Write(p []byte) (int, error) {
	if s.open {
		return s.to.Write(p)
	}
	s.held = append(s.held, p...)
	if len(s.held) < sudoSaysBytes && s.maybe() {
		return len(p), nil
	}
	return len(p), s.flush()
}

// maybe reports whether what is held can be the beginning of a message of sudo.
func (s *sudoSays) maybe() bool {
	return slices.ContainsFunc([]string{"sudo: ", "Sorry, user ", s.user + " is not "}, func(begin string) bool {
		return strings.HasPrefix(begin, string(s.held)) || strings.HasPrefix(string(s.held), begin)
	})
}

func (s *sudoSays) flush() error {
	s.open = true
	_, err := s.to.Write(s.held)
	s.held = nil
	return err
}

// end returns the message if sudo has refused the command. Otherwise it writes what is held, and returns the exit code as it is without
// sudo: 127 if there is no such program.
func (s *sudoSays) end(code int) (message string, is bool, asShell int) {
	if s == nil || s.open {
		return "", false, code
	}
	if code == 1 && refused.Match(s.held) {
		return lastLine(string(s.held)), true, code
	}
	if code == 1 && notFound.Match(s.held) {
		code = 127
	}
	_ = s.flush() // an outlet does not fail
	return "", false, code
}
