package mgmttest

import (
	"errors"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Faults lists the faults of parameters (*vnflcm.ParamError) that are joined in an error, sorted by their texts.
func Faults(err error) []string {
	var out []string
	var walk func(error)
	walk = func(err error) {
		switch e := err.(type) { //nolint:errorlint // walks the tree itself
		case *vnflcm.ParamError:
			out = append(out, e.Error())
		case interface{ Unwrap() []error }:
			for _, each := range e.Unwrap() {
				walk(each)
			}
		case interface{ Unwrap() error }:
			walk(e.Unwrap())
		}
	}
	walk(err)
	slices.Sort(out)
	return out
}

// Canary is the secret that tests put into requests. It must not appear in any output. A Lab fails its test if an argument of a program on a
// machine has the Canary, after each operation, or if the log has it, when the test ends.
const Canary = "hunter2"

// Refused checks that a request was refused with vnflcm.ErrInvalidRequest before a machine was made, that neither the error nor
// the log has the Canary, and that the error is no longer than 8 KiB.
func (l *Lab) Refused(err error) {
	l.t.Helper()
	if !errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), Canary) || len(err.Error()) > 8192 {
		l.t.Errorf("the error is %v", err)
	}
	if n := len(l.World.Hosts()); n > 0 {
		l.t.Errorf("%d machines were made", n)
	}
	l.checkLog()
}

// checkArguments checks that no argument of a program on a machine has the Canary. It reports each program of a machine once.
func (l *Lab) checkArguments() {
	l.t.Helper()
	for _, host := range l.World.Hosts() {
		for _, run := range host.Commands() {
			if !slices.ContainsFunc(run.Argv, func(arg string) bool { return strings.Contains(arg, Canary) }) {
				continue
			}
			if _, known := l.leaks.LoadOrStore(host.Name()+" "+run.Argv[0], true); !known {
				l.t.Errorf("%s: an argument of %s has a secret, and every user of a machine can read arguments: Stdin and Env are not shown",
					host.Name(), run.Argv[0])
			}
		}
	}
}

// checkLog checks that the log has no Canary.
func (l *Lab) checkLog() {
	l.t.Helper()
	if strings.Contains(l.Log(), Canary) {
		l.t.Error("the log has a secret")
	}
}
