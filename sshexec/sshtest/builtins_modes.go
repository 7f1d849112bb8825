package sshtest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/spf13/afero"
)

func octal(text string) (fs.FileMode, error) {
	n, err := strconv.ParseUint(text, 8, 12)
	if err != nil {
		return 0, fmt.Errorf("mode %q is not supported by this simulated program", text)
	}
	return fs.FileMode(n), nil
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

// walk calls fn for a file, and for what is below it when recursive.
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
	found, args, err := p.parseOptions("R", false)
	if err != nil || len(args) < 2 {
		return p.usage("cannot do this: %v", err)
	}
	if p.User != "root" {
		return p.fail(errors.New("Operation not permitted")) //nolint:staticcheck // as programs say it
	}
	return p.each(args[1:], func(at string) error {
		return p.walk(at, found.has('R'), func(at string, _ fs.FileInfo) error {
			p.host.files.setOwner(at, ownerGroup(args[0], p.host.files.owner(at)))
			return nil
		})
	})
}

// ownerGroup completes "user", "user:" and ":group".
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
	found, names, err := p.parseOptions("c:", false)
	if err != nil || !found.has('c') {
		return p.usage("only stat -c FORMAT is supported by this simulated program")
	}
	return p.each(names, func(at string) error {
		info, err := p.FS.Stat(at)
		if err != nil {
			return err
		}
		user, group, _ := strings.Cut(p.host.files.owner(at), ":")
		kind := "regular file"
		if info.IsDir() {
			kind = "directory"
		}
		p.print([]string{strings.NewReplacer(
			"%a", fmt.Sprintf("%o", info.Mode().Perm()), "%s", strconv.FormatInt(info.Size(), 10),
			"%U", user, "%G", group, "%n", at, "%F", kind, "%Y", strconv.FormatInt(info.ModTime().Unix(), 10),
		).Replace(found['c'])})
		return nil
	})
}
