// Package program has what the simulated programs of machines have in common: how they read arguments and files, and how they end.
package program

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"time"

	"github.com/spf13/afero"
	"github.com/spf13/pflag"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Call is one run of a program.
type Call struct {
	*sshtest.Process
	Args []string // without the name of the program
}

// ExitError ends a program with another code than 1.
type ExitError struct {
	Code    int
	Message string
}

func (e ExitError) Error() string { return e.Message }

// ErrSilent ends a program with exit code 1 when everything has been said.
var ErrSilent = errors.New("")

// Code is the exit code of a program that ended with err: 1 unless err is an ExitError. It prints the message, if there is one.
func (c *Call) Code(err error) int {
	if err == nil {
		return 0
	}
	if err.Error() != "" {
		_, _ = fmt.Fprintln(c.Stderr, err)
	}
	if exit, ok := errors.AsType[ExitError](err); ok {
		return exit.Code
	}
	return 1
}

// Root fails for other users, as the programs of administrators do.
func (c *Call) Root() error {
	if c.User != "root" {
		return fmt.Errorf("%s: Permission denied (are you root?)", c.Process.Args[0])
	}
	return nil
}

// Home is the home directory of the user.
func (c *Call) Home() string {
	if c.User == "root" {
		return "/root"
	}
	return "/home/" + c.User
}

// Flags parses arguments strictly and returns the remaining ones.
func (c *Call) Flags(args []string, define func(*pflag.FlagSet)) ([]string, error) {
	set := pflag.NewFlagSet(c.Process.Args[0], pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	define(set)
	if err := set.Parse(args); err != nil {
		return nil, fmt.Errorf("error: %w", err)
	}
	return set.Args(), nil
}

// Unexpected is the error of remaining arguments, nil if there are none.
func Unexpected(rest []string) error {
	if len(rest) == 0 {
		return nil
	}
	return fmt.Errorf("unknown command %q", rest)
}

// Printf writes to standard output.
func (c *Call) Printf(format string, args ...any) { _, _ = fmt.Fprintf(c.Stdout, format, args...) }

// Read takes a file argument, or standard input.
func (c *Call) Read(name string) ([]byte, error) {
	if name == "-" || name == "/dev/stdin" {
		return io.ReadAll(c.Stdin)
	}
	if !path.IsAbs(name) {
		name = path.Join(c.Dir, name)
	}
	return afero.ReadFile(c.FS, path.Clean(name))
}

// Write writes a file and makes its directory.
func (c *Call) Write(name, content string, mode os.FileMode) error {
	if err := c.FS.MkdirAll(path.Dir(name), 0o755); err != nil {
		return err
	}
	return afero.WriteFile(c.FS, name, []byte(content), mode)
}

// Exists reports whether there is a file.
func (c *Call) Exists(name string) bool {
	ok, err := afero.Exists(c.FS, name)
	return ok && err == nil
}

// Pause lets time pass, as slow programs do.
func Pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
