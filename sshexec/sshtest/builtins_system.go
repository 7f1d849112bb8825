package sshtest

import (
	"context"
	"fmt"
	"path"
	"strconv"
	"strings"
)

func basename(_ context.Context, p *Process) int {
	if len(p.Args) != 2 && len(p.Args) != 3 {
		return p.usage("one or two operands are expected")
	}
	name := path.Base(p.Args[1])
	if len(p.Args) == 3 && name != p.Args[2] {
		name = strings.TrimSuffix(name, p.Args[2])
	}
	p.print([]string{name})
	return 0
}

func dirname(_ context.Context, p *Process) int {
	if len(p.Args) != 2 {
		return p.usage("one operand is expected")
	}
	p.print([]string{path.Dir(p.Args[1])})
	return 0
}

func which(_ context.Context, p *Process) int {
	code := 0
	for _, name := range p.Args[1:] {
		if at := p.which(name); at != "" {
			p.print([]string{at})
			continue
		}
		code = 1
	}
	return code
}

func date(_ context.Context, p *Process) int {
	now := p.host.config.Clock()
	format := "+%Y-%m-%d %H:%M:%S"
	for _, arg := range p.Args[1:] {
		switch {
		case arg == "-u" || arg == "--utc":
			now = now.UTC()
		case strings.HasPrefix(arg, "+"):
			format = arg
		default:
			return p.usage("%s is not supported by this simulated program", arg)
		}
	}
	p.print([]string{strings.NewReplacer(
		"%Y", now.Format("2006"), "%m", now.Format("01"), "%d", now.Format("02"), "%H", now.Format("15"),
		"%M", now.Format("04"), "%S", now.Format("05"), "%s", strconv.FormatInt(now.Unix(), 10),
		"%F", now.Format("2006-01-02"), "%T", now.Format("15:04:05"), "%N", fmt.Sprintf("%09d", now.Nanosecond()),
	).Replace(format[1:])})
	return 0
}

func id(_ context.Context, p *Process) int {
	found, operands, err := p.parseOptions("ungG", false)
	if err != nil || len(operands) > 1 {
		return p.usage("cannot do this: %v", err)
	}
	user := p.User
	if len(operands) == 1 {
		user = operands[0]
	}
	if !p.host.users.exists(user) {
		return p.fail(fmt.Errorf("'%s': no such user", user))
	}
	number := p.host.users.id(user)
	switch {
	case len(found) == 0:
		p.print([]string{fmt.Sprintf("uid=%[1]s(%[2]s) gid=%[1]s(%[2]s) groups=%[1]s(%[2]s)", number, user)})
	case found.has('n'):
		p.print([]string{user})
	default:
		p.print([]string{number})
	}
	return 0
}

func whoami(_ context.Context, p *Process) int {
	p.print([]string{p.User})
	return 0
}

// syncDisks does nothing: writes are not buffered here.
func syncDisks(context.Context, *Process) int { return 0 }

func uname(_ context.Context, p *Process) int {
	found, _, err := p.parseOptions("snrmpoa", false)
	if err != nil {
		return p.usage("%v", err)
	}
	var words []string
	for _, field := range []struct {
		letter byte
		text   string
	}{{'s', "Linux"}, {'n', p.Host}, {'r', "6.8.0-sshtest"}, {'m', "x86_64"}, {'o', "GNU/Linux"}} {
		if found.has('a') || found.has(field.letter) || len(found) == 0 && field.letter == 's' {
			words = append(words, field.text)
		}
	}
	p.print([]string{strings.Join(words, " ")})
	return 0
}

func hostname(_ context.Context, p *Process) int {
	if len(p.Args) > 1 && p.Args[1] != "-s" && p.Args[1] != "-f" {
		return p.usage("%s is not supported by this simulated program", p.Args[1])
	}
	p.print([]string{p.Host})
	return 0
}
