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

// Command is a program of the host. It returns its exit code. ctx ends when the
// program is killed or its connection is cut; it must return then.
type Command func(ctx context.Context, p *Process) int

// Process is what a program can see.
type Process struct {
	Host           string              // hostname
	Args           []string            // Args[0] is the program as it was called
	Env            func(string) string // value of an exported variable, "" when there is none
	Environ        []string            // exported variables as NAME=value, sorted
	Dir            string              // working directory, absolute
	User           string              // "root" under sudo
	Stdin          io.Reader           // never nil
	Stdout, Stderr io.Writer           // never nil
	FS             afero.Fs            // the files of the host, as User may use them; paths are absolute

	host     *Host
	depth    int    // how many programs started each other
	task     *task  // its own once it runs, until then that of what starts it
	replaces bool   // takes the place of what starts it, as with exec
	input    string // the file that Stdin reads, "" when it is none
}

// PID returns the process id.
func (p *Process) PID() int { return p.task.pid }

// abs returns a path given to the program as an absolute one.
func (p *Process) abs(name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(p.Dir, name)
}

// fail says what is wrong, as programs do, and returns the exit code 1.
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
	if errors.As(err, &errno) { // as the C library says it
		text := errno.Error()
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return err.Error()
}

// usage refuses arguments that the built-in program does not know: better than
// doing something else than the real one.
func (p *Process) usage(format string, args ...any) int {
	_, _ = fmt.Fprintf(p.Stderr, "%s: %s\n", path.Base(p.Args[0]), fmt.Sprintf(format, args...))
	return 2
}

// with returns a process for another program started by this one.
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
	next.FS = p.host.files.as(user)
	return &next
}

const (
	maxDepth     = 64
	exitNotFound = 127
	exitNoExec   = 126
	exitKilled   = 137
)

// run finds the program and runs it, keeping a record.
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
	record := Record{
		Argv: slices.Clone(p.Args), User: p.User, Dir: p.Dir, Env: slices.Clone(p.Environ), PID: p.task.pid,
		BuiltIn: builtin, Start: time.Now(), streams: &streams{},
	}
	p.host.recorder.announce(record)
	if ctx.Err() != nil {
		p.leave(exitKilled)
		return exitKilled
	}
	p.Stdin = &tapped{from: p.Stdin, sample: &record.streams.stdin}
	p.Stdout, p.Stderr = &tap{to: p.Stdout, sample: &record.streams.stdout}, &tap{to: p.Stderr, sample: &record.streams.stderr}
	end := p.host.recorder.begin(record)
	running, stop := p.task.context(ctx)
	defer stop()
	code = program(running, p)
	killed, ok := p.task.killed()
	if ok {
		code = killed
	}
	end(code, ctx.Err() == nil && !ok)
	p.leave(code)
	return code
}

// leave ends the process unless it took the place of another, which does so, or
// lives on without what started it.
func (p *Process) leave(code int) {
	if !p.replaces && !p.task.isDetached() {
		p.task.end(code)
	}
}

var binDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// find returns the program that Args[0] means, or the exit code when there is
// none: first a file, then what was registered, then what is built in.
func (p *Process) find() (program Command, builtin bool, code int) {
	name := p.Args[0]
	if p.isFile(name) {
		return p.file(p.abs(name))
	}
	if !strings.Contains(name, "/") || slices.Contains(binDirs, path.Dir(name)) {
		if program, builtin := p.host.program(path.Base(name)); program != nil {
			return program, builtin, 0
		}
	}
	if at := p.lookPath(name); at != "" {
		return p.file(at)
	}
	if _, missing := p.host.config.Commands[path.Base(name)]; !missing && p.host.config.Unexpected != nil {
		p.host.config.Unexpected(p.Args)
	}
	_, _ = fmt.Fprintf(p.Stderr, "%s: command not found\n", name)
	return nil, false, exitNotFound
}

func (p *Process) isFile(name string) bool {
	if !strings.Contains(name, "/") {
		return false
	}
	info, err := p.FS.Stat(p.abs(name))
	return err == nil && !info.IsDir()
}

// lookPath finds an executable file by its name in PATH.
func (p *Process) lookPath(name string) string {
	if strings.Contains(name, "/") {
		return ""
	}
	for _, dir := range strings.Split(p.Env("PATH"), ":") {
		at := path.Join(dir, name)
		if info, err := p.FS.Stat(at); path.IsAbs(at) && err == nil && !info.IsDir() && info.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// file returns how to run a file: a shell script as such, anything else as the
// registered program of that name.
func (p *Process) file(name string) (Command, bool, int) {
	info, err := p.FS.Stat(name)
	if err != nil || info.Mode()&0o111 == 0 {
		_, _ = fmt.Fprintf(p.Stderr, "%s: Permission denied\n", p.Args[0])
		return nil, false, exitNoExec
	}
	content, err := afero.ReadFile(p.FS, name)
	if err != nil {
		return nil, false, p.fail(err)
	}
	if isShellScript(content) {
		return func(ctx context.Context, p *Process) int {
			if strings.Contains(p.Args[0], "/") {
				name = p.Args[0]
			}
			return p.script(ctx, nil, name, p.Args[1:], string(content))
		}, true, 0
	}
	if program, builtin := p.host.program(path.Base(name)); program != nil {
		return program, builtin, 0
	}
	if p.host.config.Unexpected != nil {
		p.host.config.Unexpected(p.Args)
	}
	_, _ = fmt.Fprintf(p.Stderr, "%s: cannot execute: not a shell script\n", p.Args[0])
	return nil, false, exitNoExec
}

func isShellScript(content []byte) bool {
	first, _, _ := strings.Cut(string(content), "\n")
	words := strings.Fields(strings.TrimPrefix(first, "#!"))
	if !strings.HasPrefix(first, "#!") || len(words) == 0 {
		return false
	}
	if path.Base(words[0]) == "env" && len(words) > 1 {
		words = words[1:]
	}
	return slices.Contains([]string{"sh", "bash", "dash"}, path.Base(words[0]))
}

// program returns a registered or built-in program by its name, nil when there
// is none.
func (h *Host) program(name string) (program Command, builtin bool) {
	if program, ok := h.config.Commands[name]; ok {
		return program, false
	}
	if program, ok := builtins()[name]; ok {
		return program, true
	}
	return nil, false
}
