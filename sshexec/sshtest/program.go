package sshtest

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/afero"
)

var binDirs = []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"}

// find returns the program for Args[0]: a file, else a registered program, else a built-in program. It returns the exit code
// if it finds no program.
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
	_, missing := p.host.config.Commands[path.Base(name)]
	if !missing && name != sftpServerPath && p.host.config.Unexpected != nil {
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

// file returns the program that runs a file: the shell for a shell script, the registered program of the same name for any
// other file.
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
	if name == sftpServerPath {
		return sftpServer, true, 0
	}
	if program := p.host.config.Commands[path.Base(name)]; program != nil {
		return program, false, 0
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

// program returns a registered or built-in program by its name, nil if the host does not have it.
func (h *Host) program(name string) (program Command, builtin bool) {
	if program, ok := h.config.Commands[name]; ok {
		return program, false
	}
	if program, ok := h.builtins[name]; ok {
		return program, true
	}
	return nil, false
}
