package sshtest

import (
	"context"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/interp"
)

// shell connects the interpreter to the host: it handles all files, programs and look-ups, so that the interpreter
// cannot access the real machine.
type shell struct {
	process  *Process
	entering bool         // while the shell enters its first working directory, without a check of permissions
	umask    atomic.Int64 // the current umask

	mu      sync.Mutex
	jobs    map[int]*task       // background jobs by process id
	inputs  map[*os.File]string // files that redirections read
	sourced string              // the file that source is about to read
}

// call rewrites a command before the interpreter runs its own builtins, if the interpreter lacks the builtin or would search
// the PATH of the real machine for it.
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
		if len(args) > 1 {
			s.mu.Lock()
			s.sourced = s.path(ctx, args[1])
			s.mu.Unlock()
		}
		return args
	case "pwd":
		return s.pwd(hc, args)
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

// pwd rewrites pwd -P, because the interpreter would resolve symbolic links on the real machine.
func (s *shell) pwd(hc interp.HandlerContext, args []string) []string {
	if len(args) != 2 || args[1] != "-P" {
		return args
	}
	at, err := s.process.host.files.follow(hc.Dir, false)
	if err != nil {
		return []string{"false"}
	}
	return []string{"printf", "%s\n", at}
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

// rewritten are the builtins that command passes to rewrite.
var rewritten = map[string]bool{"command": true, "builtin": true, "type": true, "hash": true, ".": true, "source": true, "kill": true, "umask": true, "wait": true, "trap": true, "eval": true, "exec": true, "pwd": true}

// lookup returns a command that prints the paths of programs on the host, or false if one does not exist.
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

// which returns the path of a program, "" if the host does not have it.
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

// started returns the process for a program that the shell starts.
func (s *shell) started(hc interp.HandlerContext, args []string) *Process {
	p := s.process.with(args, exported(hc.Env))
	p.Dir, p.Stdin, p.Stdout, p.Stderr = hc.Dir, hc.Stdin, hc.Stdout, hc.Stderr
	p.task, p.FS = s.self(hc), s.files()
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
		return hc.Builtin(ctx, args) // for example exec true, command echo
	}
	ctx, stop := s.self(hc).context(ctx)
	defer stop()
	p := s.started(hc, args)
	p.replaces = (replace || p.task.runsOneCommand) && hc.Env.Get(varSubshell).String() == ""
	if p.replaces && replace {
		if err := hc.Builtin(ctx, []string{"trap", "-", "EXIT"}); err != nil { // exec replaces the shell, so its trap must not run
			return err
		}
	}
	if code := p.run(ctx); code != 0 {
		return interp.ExitStatus(code & 0xff)
	}
	return nil
}
