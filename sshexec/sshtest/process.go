package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/afero"
)

// Command is a program of the host. It returns its exit code. ctx ends when the program is killed or its connection is cut; the
// program must return then.
type Command func(ctx context.Context, p *Process) int

// Process is the environment of a program.
type Process struct {
	Host           string              // hostname
	Args           []string            // Args[0] is the name by which the program was called
	Env            func(string) string // value of an exported variable, "" if there is none
	Environ        []string            // exported variables as NAME=value, sorted
	Dir            string              // working directory, absolute
	User           string              // "root" under sudo
	Stdin          io.Reader           // never nil
	Stdout, Stderr io.Writer           // never nil
	FS             afero.Fs            // the files of the host, as User may use them; paths are absolute

	host     *Host
	ctx      context.Context // the context that the program got
	depth    int             // number of programs that started each other, up to this one
	task     *task           // the task of the parent until the program runs
	replaces bool            // replaces the process that starts it, as exec does
	input    string          // the file that Stdin reads, "" if it is not a file
}

// umask returns the permission bits that new files do not get.
func (p *Process) umask() fs.FileMode {
	if files, ok := p.FS.(*userFs); ok {
		return files.umask
	}
	return loginUmask
}

// abs returns a path given to the program as an absolute one.
func (p *Process) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.Dir, name)
}

// fail prints an error, as programs do, and returns the exit code 1.
func (p *Process) fail(err error) int {
	var at *fs.PathError
	if errors.As(err, &at) {
		err = fmt.Errorf("%s: %s", at.Path, reason(at.Err))
	}
	_, _ = fmt.Fprintf(p.Stderr, "%s: %v\n", path.Base(p.Args[0]), err)
	return 1
}

func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "No such file or directory"
	case errors.Is(err, fs.ErrPermission):
		if errors.Is(err, syscall.EPERM) {
			return "Operation not permitted"
		}
		return "Permission denied"
	case errors.Is(err, fs.ErrExist):
		return "File exists"
	}
	var errno syscall.Errno
	if errors.As(err, &errno) { // the texts of the C library
		text := errno.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return err.Error()
}

// usage refuses arguments that the built-in program does not support. Ignoring them would make the program behave unlike the
// real one.
func (p *Process) usage(format string, args ...any) int {
	_, _ = fmt.Fprintf(p.Stderr, "%s: %s\n", path.Base(p.Args[0]), fmt.Sprintf(format, args...))
	return 2
}

// with returns the process of a program that this program starts.
func (p *Process) with(args []string, environ []string) *Process {
	next := *p
	next.Args = args
	next.depth++
	next.replaces = false
	next.setEnviron(environ)
	return &next
}

func (p *Process) setEnviron(environ []string) {
	values := map[string]string{}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	p.Environ = p.Environ[:0:0]
	for name, value := range values {
		p.Environ = append(p.Environ, name+"="+value)
	}
	slices.Sort(p.Environ)
	p.Env = func(name string) string { return values[name] }
}

// asUser returns a copy of the process that runs as another user.
func (p *Process) asUser(user string) *Process {
	next := *p
	next.User = user
	next.FS = p.host.files.masked(user, p.umask())
	return &next
}

const (
	maxDepth     = 64
	exitNotFound = 127
	exitNoExec   = 126
	exitKilled   = 137
)

// run finds the program, runs it and records the run.
func (p *Process) run(ctx context.Context) int {
	if p.depth > maxDepth {
		return p.usage("too many programs within each other")
	}
	program, builtin, code := p.find()
	if program == nil {
		return code
	}
	if p.replaces {
		p.task.exec(p.Args, p.User)
	} else {
		p.task = p.host.processes.add(ctx, p.task, p.Args, p.User)
	}
	p.task.setEnviron(p.Environ)
	record := Record{
		Argv: slices.Clone(p.Args), User: p.User, Dir: p.Dir, Env: slices.Clone(p.Environ), PID: p.task.pid,
		BuiltIn: builtin, Start: time.Now(), streams: &streams{},
	}
	p.host.recorder.announce(record)
	if ctx.Err() != nil {
		p.leave(exitKilled)
		return exitKilled
	}
	end := p.host.recorder.begin(record)
	if !builtin || !starters[path.Base(p.Args[0])] {
		p.task.markStarted()
	}
	running, stop := p.task.context(ctx)
	defer stop()
	p.ctx = running
	p.Stdin = &tapped{running, p.Stdin, &record.streams[0]}
	p.Stdout, p.Stderr = &tap{running, p.Stdout, &record.streams[1]}, &tap{running, p.Stderr, &record.streams[2]}
	code = program(running, p)
	killed, ok := p.task.killed()
	if ok {
		code = killed
	}
	end(code, ctx.Err() == nil && !ok)
	p.leave(code)
	return code
}

// starters are the programs that only start another program.
var starters = map[string]bool{"sudo": true, "env": true, "timeout": true, "flock": true, "nohup": true, "setsid": true}

// leave ends the process. A program that replaced another one shares its process, which the replaced program ends. A detached
// process lives on.
func (p *Process) leave(code int) {
	if !p.replaces && !p.task.isDetached() {
		p.task.end(code)
	}
}
