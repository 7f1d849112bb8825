package sshtest

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/spf13/afero"
	"mvdan.cc/sh/v3/interp"
)

// shell stands between the interpreter and the host: files, programs and
// look-ups go through it, and nothing else is left to the interpreter that
// reaches the real machine.
type shell struct {
	process  *Process
	entering bool         // the working directory is entered whoever may read it
	umask    atomic.Int64 // of files made by redirections

	mu     sync.Mutex
	jobs   map[int]*task       // in the background, by process id
	inputs map[*os.File]string // files that redirections read
}

// call rewrites commands before the interpreter takes them for its own: those
// that it does not have, and those that would search the PATH of the real
// machine.
func (s *shell) call(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	self := s.self(hc)
	if code, killed := self.killed(); killed && args[0] != cmdExited {
		return []string{"exit", strconv.Itoa(code)}, nil
	}
	if text := self.due(); text != "" {
		return []string{"eval", changed(text) + "\n" + quoted(args)}, nil
	}
	return s.rewrite(ctx, hc, args), nil
}

func (s *shell) rewrite(ctx context.Context, hc interp.HandlerContext, args []string) []string {
	switch args[0] {
	case cmdFork:
		return []string{"eval", varBackground + "=" + strconv.Itoa(s.fork(ctx, hc, len(args) > 1))}
	case cmdExited:
		s.exited(hc, args[1])
		return []string{"true"}
	case "wait":
		return append([]string{cmdWait}, args[1:]...)
	case "trap":
		return s.trap(hc, args)
	case "eval":
		return []string{"eval", changed(strings.Join(args[1:], " "))}
	case "exec":
		if len(args) > 1 {
			return append([]string{"exec", cmdExec}, args[1:]...)
		}
		return args
	case "command", "builtin":
		return s.command(ctx, hc, args)
	case "type", "hash":
		return s.lookup(hc, args[1:])
	case ".", "source":
		if len(args) > 1 && !strings.Contains(args[1], "/") {
			args = append([]string{args[0], path.Join(hc.Dir, args[1])}, args[2:]...)
		}
		return args
	case "kill":
		return append([]string{"/bin/kill"}, args[1:]...)
	case "umask":
		if len(args) == 1 {
			return []string{"echo", fmt.Sprintf("%04o", s.umask.Load())}
		}
		if len(args) == 2 {
			if mask, err := strconv.ParseInt(args[1], 8, 32); err == nil {
				s.umask.Store(mask)
				return []string{"true"}
			}
		}
		return args
	case "cd":
		for len(args) > 2 && (args[1] == "--" || args[1] == "-P" || args[1] == "-L") {
			args = append([]string{"cd"}, args[2:]...)
		}
		return args
	default:
		return args
	}
}

// command treats "command NAME ..." like "NAME ..." and answers "command -v".
func (s *shell) command(ctx context.Context, hc interp.HandlerContext, args []string) []string {
	if len(args) > 1 && rewritten[args[1]] {
		return s.rewrite(ctx, hc, args[1:])
	}
	if len(args) > 1 && (args[1] == "-v" || args[1] == "-V") {
		return s.lookup(hc, args[2:])
	}
	if len(args) < 2 || interp.IsBuiltin(args[1]) {
		return args
	}
	return append([]string{"/usr/bin/env", "--"}, args[1:]...)
}

// rewritten are those builtins that rewrite has to see by their own name.
var rewritten = map[string]bool{"command": true, "builtin": true, "type": true, "hash": true, ".": true, "source": true, "kill": true, "umask": true, "wait": true, "trap": true, "eval": true, "exec": true}

// lookup answers where programs are, from the host's point of view.
func (s *shell) lookup(hc interp.HandlerContext, names []string) []string {
	p := s.started(hc, names)
	var found []string
	for _, name := range names {
		switch at := p.which(name); {
		case at != "":
			found = append(found, at)
		case interp.IsBuiltin(name):
			found = append(found, name)
		default:
			return []string{"false"}
		}
	}
	return []string{"printf", "%s\n", strings.Join(found, "\n")}
}

// which returns the path of a program, "" when there is none.
func (p *Process) which(name string) string {
	if strings.Contains(name, "/") {
		if info, err := p.FS.Stat(p.abs(name)); err == nil && info.Mode()&0o111 != 0 {
			return name
		}
		name = strings.TrimPrefix(name, "/usr/bin/")
	}
	if at := p.lookPath(name); at != "" {
		return at
	}
	if program, _ := p.host.program(name); program != nil {
		return "/usr/bin/" + name
	}
	return ""
}

// started returns a process for what the shell starts.
func (s *shell) started(hc interp.HandlerContext, args []string) *Process {
	p := s.process.with(args, exported(hc.Env))
	p.Dir, p.Stdin, p.Stdout, p.Stderr = hc.Dir, hc.Stdin, hc.Stdout, hc.Stderr
	p.task = s.self(hc)
	if file, ok := hc.Stdin.(*os.File); ok {
		s.mu.Lock()
		p.input = s.inputs[file]
		s.mu.Unlock()
	}
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("")
	}
	return p
}

func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	if args[0] == cmdWait {
		return s.wait(ctx, hc, args[1:])
	}
	replace := args[0] == cmdExec
	if replace {
		args = args[1:]
	}
	name := path.Base(args[0])
	if program, _ := s.process.host.program(name); program == nil && interp.IsBuiltin(args[0]) && !rewritten[args[0]] {
		return hc.Builtin(ctx, args) // exec true, command echo
	}
	ctx, stop := s.self(hc).context(ctx)
	defer stop()
	p := s.started(hc, args)
	p.replaces = (replace || p.task.stands) && hc.Env.Get(varSubshell).String() == ""
	if code := p.run(ctx); code != 0 {
		return interp.ExitStatus(code & 0xff)
	}
	return nil
}

func (s *shell) path(ctx context.Context, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(interp.HandlerCtx(ctx).Dir, name)
}

func (s *shell) open(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		f, err := s.process.FS.Open(s.path(ctx, name))
		if err != nil {
			return nil, shellError(err, name)
		}
		out, err := s.process.host.pipe(ctx, f)
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.inputs == nil {
			s.inputs = map[*os.File]string{}
		}
		s.inputs[out] = s.path(ctx, name)
		return out, nil
	}
	switch name {
	case "/dev/null":
		return &target{w: io.Discard}, nil
	case "/dev/stdout":
		return &target{w: hc.Stdout}, nil
	case "/dev/stderr":
		return &target{w: hc.Stderr}, nil
	}
	at := s.path(ctx, name)
	f, err := s.process.FS.OpenFile(at, flag, perm&^os.FileMode(s.umask.Load())) //nolint:gosec // parsed from octal digits
	if err != nil {
		return nil, shellError(err, name)
	}
	if flag&os.O_APPEND != 0 {
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return &target{w: f, close: f.Close, holders: 1}, nil
}

// shellError is the one type of error the interpreter prints and goes on with.
func shellError(err error, name string) error {
	return &os.PathError{Op: "open", Path: name, Err: errText(reason(unwrapPath(err)))}
}

type errText string

func (e errText) Error() string { return string(e) }

func unwrapPath(err error) error {
	if at, ok := err.(*fs.PathError); ok { //nolint:errorlint // the outermost only
		return at.Err
	}
	return err
}

func (s *shell) stat(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	at := s.path(ctx, name)
	look := s.process.lstat
	if follow {
		look = s.process.FS.Stat
	}
	info, err := look(at)
	if err != nil && s.entering {
		info, err = s.process.host.FS().Stat(at)
	}
	if err != nil {
		return nil, err
	}
	return s.process.host.owned(info, at), nil
}

func (s *shell) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	infos, err := afero.ReadDir(s.process.FS, s.path(ctx, name))
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, err
}

func (s *shell) access(ctx context.Context, name string, mode interp.AccessMode) error {
	if s.entering {
		return nil
	}
	at, err := s.process.host.files.follow(s.path(ctx, name), false)
	if err != nil {
		return err
	}
	view := s.process.host.files.as(s.process.User)
	info, err := view.Stat(at)
	switch {
	case err != nil:
		return err
	case mode&interp.AccessRead != 0 && !view.mayRead(at),
		mode&interp.AccessWrite != 0 && !view.mayWrite(at, info),
		mode&interp.AccessExec != 0 && !info.IsDir() && info.Mode()&0o111 == 0,
		mode&interp.AccessExec != 0 && info.IsDir() && at == "/root" && !view.owns(at):
		return denied("access", at)
	}
	return nil
}
