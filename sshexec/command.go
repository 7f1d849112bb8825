package sshexec

import (
	"fmt"
	"io"
	"time"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// Shell is raw shell text, which is not quoted. Use it only for constant text, and pass values in Argv or Env.
type Shell string

// Command describes a command to run.
type Command struct {
	// Argv is the program and its arguments, which reach the program byte for byte. Pass secrets in Stdin or Env, because every
	// user of the host can see the arguments of a running program.
	Argv []string
	// Shell is text for /bin/sh. Exactly one of Argv and Shell is set.
	Shell Shell
	// Env is added to the environment of the command. It is sent on standard input, so it is on no command line and sshd needs no
	// AcceptEnv.
	Env map[string]string
	// Dir is the working directory. Default: the directory of the login.
	Dir string
	// Stdin is the standard input. Default: empty. If the command ends while a Read is blocked, Exec does not wait for this Read.
	Stdin io.Reader
	// Stdout and Stderr receive the output while the command runs. nil discards the output. The error of a failed command has the
	// last lines of standard error in any case.
	Stdout, Stderr io.Writer
	// Root runs the command as root, with sudo unless the login user is root.
	Root bool
	// User runs the command as this user, with sudo unless User is the login user. Default: the login user. At most one of Root
	// and User is set.
	User string
	// Secrets are masked in events and errors. They are not masked in the output for Stdout and Stderr.
	Secrets []string
	// Timeout limits the time of the command from the opening of its session on. After this time the command is ended as if the
	// context had ended, and the error wraps [ErrTimeout]. Default: no limit.
	Timeout time.Duration
	// Grace is the time between TERM and KILL when the command is ended. Default 5 s.
	Grace time.Duration

	// does replaces the text of a script of this package in messages.
	does string
	// begun, unless it is nil, is set to whether the host has begun to run the command.
	begun *bool
}

// CommandEvent reports the start or the end of a command. Secrets are masked.
type CommandEvent struct {
	Host     string        // Target.Name
	Command  string        // the command line for display
	Root     bool          // run as root
	User     string        // run as this user; "" for the login user and for root
	Done     bool          // false before the command runs, true afterwards
	Duration time.Duration // duration of the command if Done is set
	Err      error         // error of the command if Done is set
}

// Format prints the command line with Secrets masked, for every verb. It does not print Env and the streams.
func (c Command) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns the text that Format prints, for JSON and slog.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

func (c Command) text() string { return c.shown(mask.New(c.Secrets...)) }
