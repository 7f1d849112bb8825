package sshtest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
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
}

// call rewrites commands before the interpreter takes them for its own: those
// that it does not have, and those that would search the PATH of the real
// machine.
func (s *shell) call(ctx context.Context, args []string) ([]string, error) {
	hc := interp.HandlerCtx(ctx)
	switch args[0] {
	case "command", "builtin":
		return s.command(hc, args), nil
	case "type", "hash":
		return s.lookup(hc, args[1:]), nil
	case ".", "source":
		if len(args) > 1 && !strings.Contains(args[1], "/") {
			args = append([]string{args[0], path.Join(hc.Dir, args[1])}, args[2:]...)
		}
		return args, nil
	case "kill":
		return append([]string{"/bin/kill"}, args[1:]...), nil
	case "umask":
		if len(args) == 2 {
			if mask, err := strconv.ParseInt(args[1], 8, 32); err == nil {
				s.umask.Store(mask)
				return []string{"true"}, nil
			}
		}
		return args, nil
	case "cd":
		for len(args) > 2 && (args[1] == "--" || args[1] == "-P" || args[1] == "-L") {
			args = append([]string{"cd"}, args[2:]...)
		}
		return args, nil
	default:
		return args, nil
	}
}

// command treats "command NAME ..." like "NAME ..." and answers "command -v".
func (s *shell) command(hc interp.HandlerContext, args []string) []string {
	if len(args) > 1 && (args[1] == "-v" || args[1] == "-V") {
		return s.lookup(hc, args[2:])
	}
	if len(args) < 2 || interp.IsBuiltin(args[1]) && !rewritten[args[1]] {
		return args
	}
	return append([]string{"/usr/bin/env", "--"}, args[1:]...)
}

// rewritten are those that call has to see by their own name.
var rewritten = map[string]bool{"command": true, "builtin": true, "type": true, "hash": true, ".": true, "source": true, "kill": true, "umask": true}

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
	if p.Stdin == nil {
		p.Stdin = strings.NewReader("")
	}
	return p
}

func (s *shell) exec(ctx context.Context, args []string) error {
	hc := interp.HandlerCtx(ctx)
	name := path.Base(args[0])
	if program, _ := s.process.host.program(name); program == nil && interp.IsBuiltin(args[0]) && !rewritten[args[0]] {
		return hc.Builtin(ctx, args) // exec true, command echo
	}
	if code := s.started(hc, args).run(ctx); code != 0 {
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
		return s.pipe(ctx, f)
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
	return &target{w: f, close: f.Close}, nil
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

// pipe gives the content of a file as a pipe: the interpreter reads from
// *os.File, and would make a pipe of its own that nobody closes.
func (s *shell) pipe(ctx context.Context, f afero.File) (io.ReadWriteCloser, error) {
	out, in, err := os.Pipe()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = in.Close() })
	fill := func() {
		defer stop()
		_, _ = io.Copy(in, f) // ends when the shell closes its end
		_ = in.Close()
		_ = f.Close()
	}
	if !s.process.host.spawn(fill) {
		stop()
		return nil, errors.Join(net.ErrClosed, in.Close(), out.Close(), f.Close())
	}
	return out, nil
}

// target is where output goes. Background jobs may share it.
type target struct {
	mu    sync.Mutex
	w     io.Writer
	close func() error
}

func (t *target) Read([]byte) (int, error) { return 0, fs.ErrInvalid }

func (t *target) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(p)
}

func (t *target) Close() error {
	if t.close == nil {
		return nil
	}
	return t.close()
}

func (s *shell) stat(ctx context.Context, name string, _ bool) (fs.FileInfo, error) {
	at := s.path(ctx, name)
	info, err := s.process.FS.Stat(at)
	if err != nil && s.entering {
		info, err = s.process.host.FS().Stat(at)
	}
	if err != nil {
		return nil, err
	}
	return withOwner(info, s.process.host.files.owner(at)), nil
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
	at := s.path(ctx, name)
	if s.entering {
		return nil
	}
	view := s.process.host.files.as(s.process.User)
	info, err := view.Stat(at)
	switch {
	case err != nil:
		return err
	case mode&interp.AccessRead != 0 && !view.mayRead(at),
		mode&interp.AccessWrite != 0 && !view.owns(at),
		mode&interp.AccessExec != 0 && !info.IsDir() && info.Mode()&0o111 == 0,
		mode&interp.AccessExec != 0 && info.IsDir() && at == "/root" && !view.owns(at):
		return denied("access", at)
	}
	return nil
}
