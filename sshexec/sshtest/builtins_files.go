package sshtest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/afero"
)

func cp(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("rRafpTn", false)
	if err != nil || len(names) < 2 {
		return p.usage("cannot do this: %v", err)
	}
	return p.toTarget(names, found.has('T'), func(from, to string) error {
		info, err := p.FS.Stat(from)
		if err != nil {
			return err
		}
		if !info.IsDir() {
			return p.copyFile(from, to, info.Mode().Perm())
		}
		if !found.has('r') && !found.has('R') && !found.has('a') {
			return fmt.Errorf("-r not specified; omitting directory '%s'", from)
		}
		return afero.Walk(p.FS, from, func(at string, info fs.FileInfo, err error) error {
			if err != nil {
				return err
			}
			if info.IsDir() {
				return p.FS.MkdirAll(to+at[len(from):], info.Mode().Perm())
			}
			return p.copyFile(at, to+at[len(from):], info.Mode().Perm())
		})
	})
}

func mv(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("fT", false)
	if err != nil || len(names) < 2 {
		return p.usage("cannot do this: %v", err)
	}
	return p.toTarget(names, found.has('T'), p.FS.Rename)
}

// toTarget calls fn for each source with its target path: the last name or, if the last name is a directory, a path below it.
func (p *Process) toTarget(names []string, plain bool, fn func(from, to string) error) int {
	last := p.abs(names[len(names)-1])
	isDir, _ := afero.IsDir(p.FS, last)
	sources := names[:len(names)-1]
	if len(sources) > 1 && !isDir {
		return p.fail(fmt.Errorf("target '%s' is not a directory", last))
	}
	code := 0
	for _, name := range sources {
		from, to := p.abs(name), last
		if isDir && !plain {
			to = path.Join(last, path.Base(from))
		}
		if err := fn(from, to); err != nil {
			code = p.fail(err)
		}
	}
	return code
}

func (p *Process) copyFile(from, to string, mode fs.FileMode) error {
	in, err := p.FS.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := p.FS.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func rm(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("rRf", false)
	if err != nil {
		return p.usage("%v", err)
	}
	code := 0
	for _, name := range names {
		at := p.abs(name)
		info, err := p.lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist) && found.has('f'):
			continue
		case err != nil:
		case info.IsDir() && !found.has('r') && !found.has('R'):
			err = fmt.Errorf("cannot remove '%s': Is a directory", name)
		default:
			err = p.FS.RemoveAll(at)
		}
		if err != nil {
			code = p.fail(err)
		}
	}
	return code
}

func mkdir(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("pm:", false)
	if err != nil {
		return p.usage("%v", err)
	}
	mode := fs.ModePerm
	if found.has('m') {
		if mode, err = octal(found['m']); err != nil {
			return p.usage("%v", err)
		}
	}
	return p.each(names, func(at string) error {
		if _, err := p.FS.Stat(at); err == nil && found.has('p') {
			return p.FS.MkdirAll(at, mode)
		}
		if found.has('p') {
			if err := p.FS.MkdirAll(path.Dir(at), fs.ModePerm); err != nil {
				return err
			}
		}
		err := p.FS.Mkdir(at, mode)
		if errors.Is(err, fs.ErrExist) && found.has('p') {
			return p.FS.MkdirAll(at, mode) // another process was faster
		}
		if err != nil || !found.has('m') {
			return err
		}
		return p.FS.Chmod(at, mode)
	})
}

// each calls fn with every name made absolute.
func (p *Process) each(names []string, fn func(at string) error) int {
	if len(names) == 0 {
		return p.usage("missing operand")
	}
	code := 0
	for _, name := range names {
		if err := fn(p.abs(name)); err != nil {
			code = p.fail(err)
		}
	}
	return code
}

func rmdir(_ context.Context, p *Process) int {
	return p.each(p.Args[1:], func(at string) error {
		if isDir, err := afero.IsDir(p.FS, at); err == nil && !isDir {
			return fmt.Errorf("'%s': Not a directory", at)
		}
		return p.FS.Remove(at)
	})
}

func touch(_ context.Context, p *Process) int {
	return p.each(p.Args[1:], func(at string) error {
		if _, err := p.FS.Stat(at); err == nil {
			return p.FS.Chtimes(at, p.host.config.Clock(), p.host.config.Clock())
		}
		f, err := p.FS.OpenFile(at, os.O_WRONLY|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		return f.Close()
	})
}

func install(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("dDTm:o:g:", false)
	if err != nil {
		return p.usage("%v", err)
	}
	mode := fs.FileMode(0o755)
	if found.has('m') {
		if mode, err = octal(found['m']); err != nil {
			return p.usage("%v", err)
		}
	}
	finish := func(at string) error {
		if found.has('o') || found.has('g') {
			if p.User != "root" {
				return errors.New("Operation not permitted") //nolint:staticcheck // the text of the C library
			}
			owner := found['o']
			if found.has('g') {
				owner += ":" + found['g']
			}
			if err := p.giveTo(at, owner); err != nil {
				return err
			}
		}
		return p.FS.Chmod(at, mode)
	}
	if found.has('d') {
		return p.each(names, func(at string) error {
			return errors.Join(p.FS.MkdirAll(at, mode), finish(at))
		})
	}
	if len(names) < 2 {
		return p.usage("missing operand")
	}
	return p.toTarget(names, found.has('T'), func(from, to string) error {
		if found.has('D') {
			if err := p.FS.MkdirAll(path.Dir(to), 0o755); err != nil {
				return err
			}
		}
		if err := p.copyFile(from, to, mode); err != nil {
			return err
		}
		return finish(to)
	})
}

func mktemp(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("dp:", false)
	if err != nil || len(names) > 1 {
		return p.usage("cannot do this: %v", err)
	}
	dir := "/tmp"
	if found.has('p') {
		dir = p.abs(found['p'])
	}
	name := path.Join(dir, "tmp."+rand.Text()[:10])
	if len(names) == 1 {
		trimmed := strings.TrimRight(names[0], "X")
		name = p.abs(trimmed + rand.Text()[:max(len(names[0])-len(trimmed), 6)])
	}
	if found.has('d') {
		err = p.FS.Mkdir(name, 0o700)
	} else {
		var f afero.File
		if f, err = p.FS.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600); err == nil {
			err = f.Close()
		}
	}
	if err != nil {
		return p.fail(err)
	}
	p.print([]string{name})
	return 0
}
