package sshexec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"github.com/pkg/sftp"
)

// Exit codes of the scripts of this package.
const (
	exitNoFile    = 44 // the file or directory does not exist
	exitDigest    = 65 // the digest differs
	exitVanished  = 66 // another process has removed the temporary file
	exitIrregular = 67 // the path is not a regular file
)

// spoken maps the messages of the C library to the errors that callers check for. The scripts set LC_ALL, so that the messages are in
// English.
var spoken = []struct {
	text  string
	fault error
}{
	{"No space left on device", syscall.ENOSPC},
	{"Disk quota exceeded", syscall.EDQUOT},
	{"Read-only file system", syscall.EROFS},
	{"Permission denied", fs.ErrPermission},
	{"permission denied", fs.ErrPermission},
	{"Operation not permitted", fs.ErrPermission},
	{"No such file or directory", fs.ErrNotExist},
	{"nonexistent", fs.ErrNotExist}, // dash: "cannot create x: Directory nonexistent"
}

// scriptError is the failure of a script of this package. Its text does not contain the script. errors.As finds the
// *[ExitError] in it.
type scriptError struct {
	op, path string
	exit     *ExitError
	fault    error // an error that callers check for, or nil
}

func (e *scriptError) Error() string {
	said := lastLine(e.exit.Stderr)
	if said == "" {
		said = e.exit.Error()
	}
	return e.op + " " + e.path + ": " + said
}

func (e *scriptError) Unwrap() []error {
	if e.fault == nil {
		return []error{e.exit}
	}
	return []error{e.exit, e.fault}
}

// fileFault converts the failure of a script of this package to the error of its exit code.
func (h *Host) fileFault(op, path string, err error) error {
	var exit *ExitError
	if !errors.As(err, &exit) {
		return err
	}
	switch exit.Code {
	case exitNoFile:
		return h.fail(&fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist})
	case exitDigest:
		return h.fail(fmt.Errorf("%s %s: %w: %s", op, path, ErrDigest, lastLine(exit.Stderr)))
	case exitVanished:
		return h.fail(&fs.PathError{Op: op, Path: path, Err: errVanished})
	case exitIrregular:
		return h.fail(&fs.PathError{Op: op, Path: path, Err: ErrIrregular})
	}
	told := &scriptError{op: op, path: path, exit: exit}
	for _, s := range spoken {
		if strings.Contains(lastLine(exit.Stderr), s.text) {
			told.fault = s.fault
			break
		}
	}
	return h.fail(told)
}

// during adds the operation and the path to err.
func (h *Host) during(op, path string, err error) error {
	if err == nil {
		return nil
	}
	if named, ok := err.(*HostError); ok { //nolint:errorlint // only an outermost HostError would repeat the name
		err = named.Err
	}
	return h.fail(fmt.Errorf("%s %s: %w", op, path, err))
}

// errVanished: another upload to the same path took the temporary file of this upload for a leftover and removed it.
var errVanished = errors.New("the temporary file was removed")

// refusal reports whether an error is the answer of an SFTP server that refused a request.
func refusal(err error) bool {
	var status *sftp.StatusError
	return errors.As(err, &status) || errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrNotExist) || errors.Is(err, os.ErrExist)
}

// cut reports whether the transfer may be resumed on another connection.
func cut(err error) bool {
	return errors.Is(err, errVanished) || errors.Is(err, ErrDisconnected) || errors.Is(err, ErrConnect)
}
