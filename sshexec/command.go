package sshexec

import (
	"fmt"
	"io"
	"time"

	"github.com/vnfkit/vnfkit/internal/mask"
)

// Shell is raw shell text. It is not quoted: use it for constant text only. Values belong in Argv or Env.
type Shell string

// Command says what to run and how.
type Command struct {
	// Argv is the program and its arguments. They reach the program byte for
	// byte. Every user of the host can see them while it runs: secrets belong in
	// Stdin or Env.
	Argv []string
	// Shell is text for /bin/sh. Exactly one of Argv and Shell is set.
	Shell Shell
	// Env is added to the environment of the command. It travels on standard
	// input, so that it is on no command line and needs no AcceptEnv.
	Env map[string]string
	// Dir is the working directory. Default: the directory of the login.
	Dir string
	// Stdin is the standard input. Default: empty. If the command ends while a Read is blocked, that Read is not waited
	// for.
	Stdin io.Reader
	// Stdout and Stderr receive output while the command runs. nil discards it;
	// the last lines of standard error are in the error all the same.
	Stdout, Stderr io.Writer
	// Root runs the command as root: through sudo unless the login user is root.
	Root bool
	// User runs the command as this user, through sudo unless it is the login
	// user. Default: the login user. At most one of Root and User is set.
	User string
	// Secrets are masked in events and errors, wherever they appear. They are
	// not masked in what Stdout and Stderr receive.
	Secrets []string
	// Timeout is how long the command may take, from when the host has a session
	// for it. Then it is ended as if the context had, and the error wraps
	// [ErrTimeout]. Default: as long as the context allows.
	Timeout time.Duration
	// Grace is the time between TERM and KILL when the command is ended. Default
	// 5 s.
	Grace time.Duration

	// does describes a script of this package in messages, instead of its text.
	does string
	// begun, unless it is nil, is set to whether the host has begun to run the
	// command.
	begun *bool
}

// CommandEvent reports the start or the end of a command. Secrets are masked.
type CommandEvent struct {
	Host     string        // Target.Name
	Command  string        // the command line, for people
	Root     bool          // run as root
	User     string        // run as this user, when not as the login user or root
	Done     bool          // false before the command runs, true after
	Duration time.Duration // how long it took, when Done
	Err      error         // why it failed, when Done
}

// Format prints the command line with Secrets masked, for every verb. Env and the streams are left out.
func (c Command) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.text()) }

// MarshalText returns what Format prints, which covers JSON and slog.
func (c Command) MarshalText() ([]byte, error) { return []byte(c.text()), nil }

func (c Command) text() string { return c.shown(mask.New(c.Secrets...)) }
