package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/afero"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"
)

const loginUmask = 0o022

// loginProcess returns the process of the login shell that runs a command line. The caller ends the task of the process.
func (h *Host) loginProcess(ctx context.Context, line string, stdin *os.File, stdout, stderr io.Writer) *Process {
	user := h.config.User
	args := []string{"sh", "-c", line}
	p := &Process{
		Host: h.config.Name, Args: args, Dir: homeOf(user), User: user,
		Stdin: stdin, Stdout: stdout, Stderr: stderr, FS: h.files.masked(user, loginUmask),
		host: h, task: h.processes.add(ctx, nil, args, user),
	}
	p.setEnviron([]string{
		"HOME=" + homeOf(user), "USER=" + user, "LOGNAME=" + user, "SHELL=/bin/sh",
		"PATH=" + strings.Join(binDirs, ":"),
	})
	return p
}

// startupFile returns the path of the file that the login shell reads before it runs a command, as bash does under sshd.
func (h *Host) startupFile() string { return homeOf(h.config.User) + "/.bashrc" }

func (h *Host) hasStartupFile() bool {
	found, err := afero.Exists(h.FS(), h.startupFile())
	return err == nil && found
}

// script runs shell text. The handlers of shell prevent access to the real machine.
func (p *Process) script(ctx context.Context, options []string, name string, args []string, text string) (code int) {
	defer func() {
		if fault := recover(); fault != nil { // the interpreter panics on some unusual scripts
			_, _ = fmt.Fprintf(p.Stderr, "%s: %v\n", name, fault)
			code = 2
		}
	}()
	file, err := parse(name, text)
	if err != nil {
		_, _ = fmt.Fprintln(p.Stderr, err)
		return 2
	}
	params := append(append(options[:len(options):len(options)], "--"), args...)
	env := newEnviron(p)
	s := &shell{process: p, jobs: map[int]*task{}}
	s.umask.Store(int64(p.umask()))
	runner, err := interp.New(
		interp.Env(env),
		interp.Dir("/"),
		interp.Params(params...),
		interp.StdIO(plain(p.Stdin), p.Stdout, p.Stderr),
		interp.CallHandler(s.call),
		interp.ExecHandlers(func(interp.ExecHandlerFunc) interp.ExecHandlerFunc { return s.exec }),
		interp.OpenHandler(s.open),
		interp.StatHandler(s.stat),
		interp.ReadDirHandler2(s.readDir),
		interp.AccessHandler(s.access),
	)
	if err != nil {
		return p.usage("%v", err)
	}
	env.start(runner)
	// The working directory exists only on the host, not on the real machine. So the interpreter starts in / and runs cd first.
	s.entering = true
	if err := runner.Run(ctx, enter(p.Dir)); err != nil {
		return exitCode(p, err)
	}
	s.entering = false
	code = exitCode(p, runner.Run(ctx, file))
	if late, err := parse(name, p.task.due()); err == nil && len(late.Stmts) > 0 { // traps of signals that came during the last command
		if err := runner.Run(ctx, &syntax.Block{Stmts: late.Stmts}); runner.Exited() {
			code = exitCode(p, err)
		}
	}
	s.awaitStart(ctx)
	return code
}

func enter(dir string) *syntax.Stmt {
	return call("cd", dir)
}

func exitCode(p *Process, err error) int {
	var status interp.ExitStatus
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return exitKilled
	}
	_, _ = fmt.Fprintf(p.Stderr, "%s: %v\n", p.Args[0], err)
	return 2
}

// sh implements the programs sh, bash and dash.
func sh(ctx context.Context, p *Process) int {
	args := p.Args[1:]
	var options []string
	fromText, fromInput := false, false
	for len(args) > 0 && len(args[0]) > 1 && strings.ContainsAny(args[0][:1], "-+") {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			break
		}
		sign, letters := arg[:1], arg[1:]
		if strings.HasPrefix(letters, "-") { // --login, --norc
			continue
		}
		for _, letter := range letters {
			switch letter {
			case 'c':
				fromText = true
			case 's':
				fromInput = true
			case 'l', 'i':
			case 'o':
				if len(args) == 0 {
					return p.usage("-o: option requires an argument")
				}
				options = append(options, sign+"o", args[0])
				args = args[1:]
			default:
				options = append(options, sign+string(letter))
			}
		}
	}
	switch {
	case fromText && len(args) == 0:
		return p.usage("-c: option requires an argument")
	case fromText:
		name := p.Args[0]
		text, params := args[0], args[1:]
		if len(params) > 0 {
			name, params = params[0], params[1:]
		}
		return p.script(ctx, options, name, params, text)
	case fromInput || len(args) == 0:
		text, err := io.ReadAll(p.Stdin)
		if err != nil {
			return p.fail(err)
		}
		return p.script(ctx, options, p.Args[0], args, string(text))
	}
	text, err := readFile(p, args[0])
	if err != nil {
		_ = p.fail(err)
		return exitNotFound
	}
	return p.script(ctx, options, args[0], args[1:], string(text))
}
