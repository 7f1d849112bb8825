package sshtest

import (
	"bufio"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sudo asks for the password on standard error, as the real one does. It reads the answer from standard input byte by byte, so
// that the input of the command stays complete.
func sudo(ctx context.Context, p *Process) int {
	found, args, err := p.parseOptions("nSHEp:u:", true)
	if err != nil {
		return p.usage("%v", err)
	}
	var given []string
	for len(args) > 0 && strings.Contains(args[0], "=") {
		given, args = append(given, args[0]), args[1:]
	}
	if len(args) == 0 {
		return p.usage("a command is required")
	}
	user := "root"
	if found.has('u') {
		user = found['u']
	}
	if !p.host.users.exists(user) {
		_, _ = io.WriteString(p.Stderr, "sudo: unknown user "+user+"\n")
		return 1
	}
	if p.host.config.SudoPassword != "" && p.User != "root" {
		if err := p.askSudo(found); err != nil {
			_, _ = io.WriteString(p.Stderr, "sudo: "+err.Error()+"\n")
			return 1
		}
	}
	next := p.with(args, append(sudoEnviron(p, user, found.has('E')), given...)).asUser(user)
	return next.run(ctx)
}

func (p *Process) askSudo(found options) error {
	if found.has('n') {
		return errors.New("a password is required")
	}
	if !found.has('S') {
		return errors.New("a terminal is required to read the password")
	}
	prompt := "[sudo] password for " + p.User + ": "
	if found.has('p') {
		prompt = found['p']
	}
	for attempt := 1; ; attempt++ {
		_, _ = io.WriteString(p.Stderr, prompt)
		answer, err := readLine(plain(p.Stdin)) // records must not contain the password
		switch {
		case err != nil && answer == "":
			return errors.New("no password was provided")
		case answer == p.host.config.SudoPassword:
			return nil
		case attempt == 3:
			return errors.New("3 incorrect password attempts")
		}
		_, _ = io.WriteString(p.Stderr, "Sorry, try again.\n")
	}
}

func readLine(r io.Reader) (string, error) {
	var line []byte
	b := make([]byte, 1)
	for {
		n, err := r.Read(b)
		if n == 1 {
			if b[0] == '\n' {
				return string(line), nil
			}
			line = append(line, b[0])
		}
		if err != nil {
			return string(line), err
		}
	}
}

// sudoEnviron returns the environment that sudo gives to a program. Variables of the caller are included only if keep is set.
func sudoEnviron(p *Process, user string, keep bool) []string {
	own := []string{
		"HOME=" + homeOf(user), "USER=" + user, "LOGNAME=" + user, "SHELL=/bin/sh",
		"PATH=" + strings.Join(binDirs, ":"), "SUDO_USER=" + p.User,
	}
	if keep {
		return append(append([]string{}, p.Environ...), own...)
	}
	return own
}

func env(ctx context.Context, p *Process) int {
	found, args, err := p.parseOptions("iu:", true)
	if err != nil {
		return p.usage("%v", err)
	}
	var environ []string
	for _, pair := range p.Environ {
		name, _, _ := strings.Cut(pair, "=")
		if !found.has('i') && !slices.Contains(strings.Split(found['u'], "\n"), name) {
			environ = append(environ, pair)
		}
	}
	for len(args) > 0 && strings.Contains(args[0], "=") {
		environ = append(environ, args[0])
		args = args[1:]
	}
	next := p.with(args, environ)
	if len(args) > 0 {
		next.replaces = true
		return next.run(ctx)
	}
	_, _ = io.WriteString(p.Stdout, strings.Join(append(next.Environ, ""), "\n"))
	return 0
}

// duration parses the operand of sleep and timeout: a number of seconds, or a number with the unit s, m, h or d.
func duration(text string) (time.Duration, error) {
	unit := time.Second
	for suffix, of := range map[string]time.Duration{"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour} {
		if before, ok := strings.CutSuffix(text, suffix); ok {
			text, unit = before, of
			break
		}
	}
	n, err := strconv.ParseFloat(text, 64)
	return time.Duration(n * float64(unit)), err
}

func sleep(ctx context.Context, p *Process) int {
	if len(p.Args) != 2 {
		return p.usage("one operand is expected")
	}
	d, err := duration(p.Args[1])
	if err != nil {
		return p.usage("invalid time interval %q", p.Args[1])
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return 0
	case <-ctx.Done():
		return exitKilled
	}
}

func timeout(ctx context.Context, p *Process) int {
	_, args, err := p.parseOptions("k:s:", true)
	if err != nil {
		return p.usage("%v", err)
	}
	if len(args) < 2 {
		return p.usage("a duration and a command are required")
	}
	limit, err := duration(args[0])
	if err != nil {
		return p.usage("invalid time interval %q", args[0])
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	code := p.with(args[1:], p.Environ).run(limited)
	if limited.Err() != nil && ctx.Err() == nil {
		return 124
	}
	return code
}

// flock runs a command when no other command holds the lock of the file. The lock ends with the command, as with -o.
func flock(ctx context.Context, p *Process) int {
	args := p.Args[1:]
	if len(args) > 0 && args[0] == "-o" {
		args = args[1:]
	}
	if len(args) < 2 || strings.HasPrefix(args[0], "-") {
		return p.usage("a file and a command are required")
	}
	slot := p.host.lock(p.abs(args[0]))
	select {
	case slot <- struct{}{}:
	case <-ctx.Done():
		return exitKilled
	}
	defer func() { <-slot }()
	return p.with(args[1:], p.Environ).run(ctx)
}

// lock returns the lock of a file. A process holds the lock between sending to the channel and receiving from it.
func (h *Host) lock(name string) chan struct{} {
	slot, _ := h.locks.LoadOrStore(name, make(chan struct{}, 1))
	return slot.(chan struct{})
}

func seq(_ context.Context, p *Process) int {
	first, last := 1, 0
	var err error
	switch len(p.Args) {
	case 2:
		last, err = strconv.Atoi(p.Args[1])
	case 3:
		if first, err = strconv.Atoi(p.Args[1]); err == nil {
			last, err = strconv.Atoi(p.Args[2])
		}
	default:
		return p.usage("one or two operands are expected")
	}
	if err != nil {
		return p.usage("%v", err)
	}
	out := bufio.NewWriter(p.Stdout)
	for ; first <= last; first++ {
		_, _ = out.WriteString(strconv.Itoa(first) + "\n")
	}
	_ = out.Flush()
	return 0
}
