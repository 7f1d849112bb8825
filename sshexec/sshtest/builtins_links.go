package sshtest

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/spf13/afero"
)

// lstat returns information about a file, or about a symbolic link itself.
func (p *Process) lstat(at string) (fs.FileInfo, error) {
	if fs, ok := p.FS.(afero.Lstater); ok {
		info, _, err := fs.LstatIfPossible(at)
		return info, err
	}
	return p.FS.Stat(at)
}

func ln(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("sfnT", false)
	links, ok := p.FS.(afero.Linker)
	if err != nil || len(names) != 2 || !found.has('s') || !ok {
		return p.usage("only ln -s [-fnT] TARGET NAME is supported by this simulated program: %v", err)
	}
	target, at := names[0], p.abs(names[1])
	info, err := p.FS.Stat(at)
	if found.has('n') || found.has('T') {
		info, err = p.lstat(at)
	}
	if err == nil && info.IsDir() {
		if found.has('T') {
			return p.fail(&fs.PathError{Op: "ln", Path: at, Err: fs.ErrExist})
		}
		at = path.Join(at, path.Base(target))
	}
	if found.has('f') {
		if err := p.FS.Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return p.fail(err)
		}
	}
	if err := links.SymlinkIfPossible(target, at); err != nil {
		return p.fail(err)
	}
	return 0
}

func readlink(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("fn", false)
	links, ok := p.FS.(afero.LinkReader)
	if err != nil || len(names) == 0 || !ok {
		return p.usage("only readlink [-f] NAME is supported by this simulated program: %v", err)
	}
	code := 0
	for _, name := range names {
		if found.has('f') {
			at, err := p.host.files.follow(p.abs(name), false)
			if err != nil {
				code = 1
				continue
			}
			p.print([]string{at})
			continue
		}
		target, err := links.ReadlinkIfPossible(p.abs(name))
		if err != nil {
			code = 1 // the real readlink prints no message either
			continue
		}
		p.print([]string{target})
	}
	return code
}

// modeBits returns the permission bits as stat %a shows them.
func modeBits(mode fs.FileMode) uint32 {
	bits := uint32(mode.Perm())
	for bit, is := range map[uint32]fs.FileMode{0o4000: os.ModeSetuid, 0o2000: os.ModeSetgid, 0o1000: os.ModeSticky} {
		if mode&is != 0 {
			bits |= bit
		}
	}
	return bits
}
