// Package cli has what the command lines of the examples share: a help text with examples, errors that name what is wrong, and
// exit codes.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// Exit codes of the examples.
const (
	Failed      = 1
	Usage       = 2   // the command line is wrong; nothing was done
	Interrupted = 130 // as shells report SIGINT
)

// codes are the last lines of every help text.
const codes = "\nExit codes: 0 done, 1 failed, 2 the command line is wrong and nothing was done, 130 interrupted.\n"

// Program is the command line of an example.
type Program struct {
	Name string
	// Help says in a sentence what the program does, and has an example call for each of its commands.
	Help string
	// Commands are the first words that are allowed. None: the program takes no words.
	Commands []string
	// Bare is set if the program also runs without a command.
	Bare  bool
	Flags *flag.FlagSet
}

// New returns a Program without commands.
func New(name, help string, commands ...string) *Program {
	return &Program{Name: name, Help: help, Commands: commands, Flags: flag.NewFlagSet(name, flag.ContinueOnError)}
}

// Explained is the error of a program that another process, which it started, has explained to the user already. Code is the exit code.
type Explained struct{ Code int }

func (e Explained) Error() string { return fmt.Sprint("exit code ", e.Code) }

// usageError is a wrong command line.
type usageError struct{ error }

// Wrong returns the error of a wrong command line.
func Wrong(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// Parse reads the flags, before and after words, and returns the words. With -h it writes the help and returns flag.ErrHelp.
func (p *Program) Parse(args []string, help io.Writer) ([]string, error) {
	p.Flags.SetOutput(io.Discard)
	words, err := ParseFlags(p.Flags, args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		_, _ = fmt.Fprintf(help, "%s\nFlags:\n", p.Help)
		p.Flags.SetOutput(help)
		p.Flags.PrintDefaults()
		_, _ = io.WriteString(help, codes)
		return nil, err
	case err != nil && len(words) > 0:
		return nil, Wrong("%w (words after -- are no flags)", err)
	case err != nil:
		return nil, usageError{err}
	}
	switch {
	case len(p.Commands) == 0 && len(words) == 0:
		return nil, nil
	case len(p.Commands) == 0:
		return nil, Wrong("unknown word %q: the program takes flags only", words[0])
	case len(words) == 0 && p.Bare:
		return nil, nil
	case len(p.Commands) > 0 && len(words) == 0:
		return nil, Wrong("a command is missing: %s", strings.Join(p.Commands, ", "))
	case len(p.Commands) > 0 && !slices.Contains(p.Commands, words[0]):
		return nil, Wrong("unknown command %q: the commands are %s", words[0], strings.Join(p.Commands, ", "))
	}
	return words, nil
}

// ParseFlags sets the flags that are anywhere in args, and returns the words: what is no flag, negative numbers, and all after "--".
func ParseFlags(flags *flag.FlagSet, args []string) (words []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return append(words, args[1:]...), nil
		}
		if _, err := strconv.Atoi(arg); err == nil || len(arg) < 2 || arg[0] != '-' {
			words, args = append(words, arg), args[1:]
			continue
		}
		n := min(flagWords(flags, arg), len(args))
		if err := flags.Parse(args[:n]); err != nil {
			return words, err
		}
		args = args[n:]
	}
	return words, nil
}

// flagWords returns how many arguments a flag takes with its value.
func flagWords(flags *flag.FlagSet, arg string) int {
	known := flags.Lookup(strings.TrimPrefix(strings.TrimPrefix(arg, "-"), "-"))
	if known == nil {
		return 1 // unknown, or with its value after "="
	}
	if isBool, ok := known.Value.(interface{ IsBoolFlag() bool }); ok && isBool.IsBoolFlag() {
		return 1
	}
	return 2
}

// Main is the main function: it reads the command line, runs the program until an interrupt ends its context, and exits.
func (p *Program) Main(run func(ctx context.Context, words []string) error) {
	Main(p.Name, func(ctx context.Context) error {
		words, err := p.Parse(os.Args[1:], os.Stdout)
		if err != nil {
			return err
		}
		return run(ctx, words)
	})
}

// Main is Program.Main for a program that reads its command line in run. A second interrupt ends the program at once.
func Main(name string, run func(ctx context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	os.Exit(code(ctx, name, run(ctx), os.Stderr))
}

// code returns the exit code for an error, which it writes to out.
func code(ctx context.Context, name string, err error, out io.Writer) int {
	wrong, isUsage := errors.AsType[usageError](err)
	explained, isExplained := errors.AsType[Explained](err)
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case isExplained:
		return explained.Code
	case isUsage:
		_, _ = fmt.Fprintf(out, "%s: %v\nTry %s -h.\n", name, wrong, name)
		return Usage
	case ctx.Err() != nil && (errors.Is(err, context.Canceled) || errors.Is(err, context.Cause(ctx))):
		_, _ = fmt.Fprintf(out, "%s: interrupted\n", name)
		return Interrupted
	}
	_, _ = fmt.Fprintf(out, "%s: %s\n", name, harmless(err.Error()))
	return Failed
}

// harmless replaces the characters of a text that control a terminal: errors quote what machines have said.
func harmless(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}
