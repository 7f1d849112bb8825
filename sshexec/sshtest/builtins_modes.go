package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/afero"
)

func octal(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q is not supported by this simulated program", text)
	}
	mode := fs.FileMode(n).Perm()
	if n&0o1000 != 0 {
		mode |= fs.ModeSticky
	}
	return mode, nil
}

// symbolic applies modes such as +x, u+rw or go-rwx.
func symbolic(text string, mode fs.FileMode) (fs.FileMode, error) {
	for _, part := range strings.Split(text, ",") {
		at := strings.IndexAny(part, "+-=")
		if at < 0 {
			return octal(text)
		}
		who, what := part[:at], part[at+1:]
		if who == "" || who == "a" {
			who = "ugo"
		}
		var bits, all fs.FileMode
		for _, w := range who {
			shift := map[rune]uint{'u': 6, 'g': 3, 'o': 0}[w]
			all |= 7 << shift
			for _, b := range what {
				bits |= map[rune]fs.FileMode{'r': 4, 'w': 2, 'x': 1}[b] << shift
			}
		}
		switch part[at] {
		case '+':
			mode |= bits
		case '-':
			mode &^= bits
		default:
			mode = mode&^all | bits
		}
	}
	return mode, nil
}

func chmod(_ context.Context, p *Process) int {
	args := p.Args[1:]
	recursive := len(args) > 0 && args[0] == "-R"
	if recursive {
		args = args[1:]
	}
	if len(args) < 2 {
		return p.usage("missing operand")
	}
	return p.each(args[1:], func(at string) error {
		return p.walk(at, recursive, func(at string, info fs.FileInfo) error {
			mode, err := symbolic(args[0], info.Mode().Perm())
			if err != nil {
				return err
			}
			return p.FS.Chmod(at, mode)
		})
	})
}

// walk calls fn for a file and, if recursive, for the files below it.
func (p *Process) walk(at string, recursive bool, fn func(at string, info fs.FileInfo) error) error {
	info, err := p.FS.Stat(at)
	if err != nil {
		return err
	}
	if !recursive {
		return fn(at, info)
	}
	return afero.Walk(p.FS, at, func(at string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		return fn(at, info)
	})
}

func chown(_ context.Context, p *Process) int {
	found, args, err := p.parseOptions("Rh", false)
	if err != nil || len(args) < 2 {
		return p.usage("cannot do this: %v", err)
	}
	if p.User != "root" {
		return p.fail(errors.New("Operation not permitted")) //nolint:staticcheck // the text of the C library
	}
	return p.each(args[1:], func(at string) error {
		return p.walk(at, found.has('R'), func(at string, _ fs.FileInfo) error {
			return p.giveTo(at, args[0])
		})
	})
}

// giveTo changes the owner of a file. owner has the form of chown's operand, see ownerGroup.
func (p *Process) giveTo(at, owner string) error {
	at, err := p.host.files.follow(at, false)
	if err != nil {
		return err
	}
	if p.host.faults.readOnly(at) {
		return &fs.PathError{Op: "chown", Path: at, Err: syscall.EROFS}
	}
	p.host.files.setOwner(at, ownerGroup(owner, p.host.files.owner(at)))
	return nil
}

// ownerGroup returns "user:group" for chown's operand, which may be "user", "user:" or ":group". before is the current owner.
func ownerGroup(text, before string) string {
	user, group, hasGroup := strings.Cut(text, ":")
	oldUser, oldGroup, _ := strings.Cut(before, ":")
	if user == "" {
		user = oldUser
	}
	switch {
	case !hasGroup:
		group = oldGroup
	case group == "":
		group = user
	}
	return user + ":" + group
}

func stat(_ context.Context, p *Process) int {
	found, names, err := p.parseOptions("Lc:", false)
	if err != nil || !found.has('c') {
		return p.usage("only stat [-L] -c FORMAT is supported by this simulated program")
	}
	return p.each(names, func(at string) error {
		look := p.lstat
		if found.has('L') {
			look = p.FS.Stat
		}
		info, err := look(at)
		if err != nil {
			return err
		}
		user, group, _ := strings.Cut(p.host.files.ownerOf(at), ":")
		kind := map[fs.FileMode]string{fs.ModeDir: "directory", fs.ModeSymlink: "symbolic link"}[info.Mode().Type()]
		switch {
		case kind == "" && info.Size() == 0:
			kind = "regular empty file"
		case kind == "":
			kind = "regular file"
		}
		p.print([]string{strings.NewReplacer(
			"%a", fmt.Sprintf("%o", modeBits(info.Mode())), "%s", strconv.FormatInt(info.Size(), 10),
			"%U", user, "%G", group, "%u", p.host.users.id(user), "%g", p.host.users.id(group), "%n", at, "%F", kind, "%Y", strconv.FormatInt(info.ModTime().Unix(), 10),
		).Replace(found['c'])})
		return nil
	})
}
