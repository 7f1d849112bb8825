package sshtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/afero"
)

// foundFile is a file that find tests.
type foundFile struct {
	name, at string
	info     fs.FileInfo
}

// search holds the parsed arguments of find.
type search struct {
	min, max int
	tests    []func(foundFile) bool // evaluated in order until one returns false
}

func find(ctx context.Context, p *Process) int {
	args := p.Args[1:]
	var roots []string
	for len(args) > 0 && !strings.HasPrefix(args[0], "-") && args[0] != "!" {
		roots, args = append(roots, args[0]), args[1:]
	}
	if len(roots) == 0 {
		roots = []string{"."}
	}
	code := 0
	s, err := p.parseFind(ctx, args, &code)
	if err != nil {
		return p.usage("%v", err)
	}
	for _, root := range roots {
		if err := p.findBelow(s, root); err != nil {
			code = p.fail(err)
		}
	}
	return code
}

func (p *Process) findBelow(s *search, root string) error {
	start := p.abs(root)
	return afero.Walk(p.FS, start, func(at string, info fs.FileInfo, err error) error {
		if err != nil {
			return err
		}
		rest := strings.TrimPrefix(at, start)
		depth := strings.Count(strings.Trim(rest, "/")+"/", "/")
		if rest == "" {
			depth = 0
		}
		if depth >= s.min && depth <= s.max {
			file := foundFile{name: root + rest, at: at, info: info}
			for _, holds := range s.tests {
				if !holds(file) {
					break
				}
			}
		}
		if info.IsDir() && depth >= s.max {
			return fs.SkipDir
		}
		return nil
	})
}

// parseFind reads the expression. Actions on a file count as tests too.
func (p *Process) parseFind(ctx context.Context, args []string, code *int) (*search, error) {
	s := &search{max: int(^uint(0) >> 1)}
	acts, negated := false, false
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch word {
		case "-print", "-print0":
			acts = true
			s.tests = append(s.tests, p.printFound(map[string]string{"-print": "\n", "-print0": "\x00"}[word]))
			continue
		case "-exec":
			end := slices.Index(args, ";")
			if end < 1 {
				return nil, errors.New("only -exec COMMAND ... ; is supported by this simulated program")
			}
			acts = true
			s.tests = append(s.tests, p.execFound(ctx, args[:end]))
			args = args[end+1:]
			continue
		case "!":
			negated = true
			continue
		}
		if len(args) == 0 {
			return nil, fmt.Errorf("%s is not supported by this simulated program, or needs a value", word)
		}
		if err := p.findTest(s, word, args[0]); err != nil {
			return nil, err
		}
		args = args[1:]
		if last := len(s.tests) - 1; negated && last >= 0 {
			holds := s.tests[last]
			s.tests[last] = func(f foundFile) bool { return !holds(f) }
		}
		negated = false
	}
	if !acts {
		s.tests = append(s.tests, p.printFound("\n"))
	}
	return s, nil
}

func (p *Process) findTest(s *search, word, value string) error {
	var err error
	test := func(holds func(foundFile) bool) { s.tests = append(s.tests, holds) }
	switch word {
	case "-mindepth":
		s.min, err = strconv.Atoi(value)
	case "-maxdepth":
		s.max, err = strconv.Atoi(value)
	case "-name":
		_, err = path.Match(value, "")
		test(func(f foundFile) bool { ok, _ := path.Match(value, path.Base(f.at)); return ok })
	case "-type":
		kind, ok := map[string]fs.FileMode{"f": 0, "d": fs.ModeDir, "l": fs.ModeSymlink}[value]
		if !ok {
			return fmt.Errorf("-type %s is not supported by this simulated program", value)
		}
		test(func(f foundFile) bool { return f.info.Mode().Type() == kind })
	case "-mtime", "-mmin":
		return p.findAge(s, value, map[string]time.Duration{"-mtime": 24 * time.Hour, "-mmin": time.Minute}[word])
	case "-newer":
		var info fs.FileInfo
		if info, err = p.FS.Stat(p.abs(value)); err == nil {
			test(func(f foundFile) bool { return f.info.ModTime().After(info.ModTime()) })
		}
	default:
		return fmt.Errorf("%s is not supported by this simulated program", word)
	}
	return err
}

func (p *Process) findAge(s *search, value string, unit time.Duration) error {
	n, err := strconv.Atoi(strings.TrimLeft(value, "+-"))
	s.tests = append(s.tests, func(f foundFile) bool {
		age := int(p.host.config.Clock().Sub(f.info.ModTime()) / unit)
		switch value[0] {
		case '+':
			return age > n
		case '-':
			return age < n
		}
		return age == n
	})
	return err
}

func (p *Process) printFound(end string) func(foundFile) bool {
	return func(f foundFile) bool {
		_, _ = io.WriteString(p.Stdout, f.name+end)
		return true
	}
}

func (p *Process) execFound(ctx context.Context, command []string) func(foundFile) bool {
	return func(f foundFile) bool {
		args := slices.Clone(command)
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "{}", f.name)
		}
		return p.with(args, p.Environ).run(ctx) == 0
	}
}

// xargsBytes limits the command line that xargs builds, as in GNU xargs.
const xargsBytes = 128 << 10

func xargs(ctx context.Context, p *Process) int {
	found, command, err := p.parseOptions("0rn:", true)
	if err != nil {
		return p.usage("%v", err)
	}
	if len(command) == 0 {
		command = []string{"echo"}
	}
	most := int(^uint(0) >> 1)
	if found.has('n') {
		if most, err = strconv.Atoi(found['n']); err != nil || most < 1 {
			return p.usage("invalid number %q", found['n'])
		}
	}
	content, err := io.ReadAll(p.Stdin)
	if err != nil {
		return p.fail(err)
	}
	words := strings.Fields(string(content))
	if found.has('0') {
		words = nil
		for _, word := range bytes.Split(bytes.TrimSuffix(content, []byte{0}), []byte{0}) {
			words = append(words, string(word))
		}
		if len(content) == 0 {
			words = nil
		}
	}
	if len(words) == 0 && !found.has('r') {
		return p.xarg(ctx, command)
	}
	code := 0
	for len(words) > 0 {
		n, size := 0, 0
		for n < len(words) && n < most && (n == 0 || size+len(words[n]) < xargsBytes) {
			size += len(words[n]) + 1
			n++
		}
		if p.xarg(ctx, append(slices.Clone(command), words[:n]...)) != 0 {
			code = 123
		}
		words = words[n:]
	}
	return code
}

func (p *Process) xarg(ctx context.Context, args []string) int {
	next := p.with(args, p.Environ)
	next.Stdin = strings.NewReader("")
	return next.run(ctx)
}
