package sshexec

import (
	"io"
	"regexp"
	"slices"
	"strings"
)

// refused matches the English messages of sudo for a command that it does not run.
var refused = regexp.MustCompile(`(?m)^(sudo: a (password|terminal) is required|Sorry, user \S+ (is not allowed|may not run)|\S+ is not (in the sudoers file|allowed to run sudo))`)

// notFound matches the message of sudo for a missing program. The exit code of sudo is 1 in this case, that of a shell is 127.
var notFound = regexp.MustCompile(`(?m)^sudo: \S+: command not found\r?$`)

// sudoSaysBytes limits the stored bytes of standard error that begins like a message of sudo.
const sudoSaysBytes = 4 << 10

// sudoSays stores the standard error of a command that sudo runs directly, if the output begins like a message of sudo. Only the exit
// code of the command shows whether sudo has refused it.
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

// maybe reports whether the stored bytes can be the beginning of a message of sudo.
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

// end returns the message if sudo has refused the command. Otherwise it writes the stored bytes, and returns the exit code that the
// command would have without sudo: 127 if the program is missing.
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
	_ = s.flush() // Write of an outlet never fails
	return "", false, code
}
