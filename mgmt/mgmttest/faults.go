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

// Canary is the secret that tests put into requests. It must not appear in any output. A Lab fails its test at the end if the log, or an
// argument of a program on a machine, has the Canary.
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
	l.checkSecrets()
}

// checkSecrets checks that neither the log nor an argument of a program on a machine has the Canary.
func (l *Lab) checkSecrets() {
	l.t.Helper()
	for _, host := range l.World.Hosts() {
		for _, run := range host.Commands() {
			if slices.ContainsFunc(run.Argv, func(arg string) bool { return strings.Contains(arg, Canary) }) {
				l.t.Errorf("%s: an argument of %s has a secret, and every user of a machine can read arguments: Stdin and Env are not shown",
					host.Name(), run.Argv[0])
			}
		}
	}
	if strings.Contains(l.Log(), Canary) {
		l.t.Error("the log has a secret")
	}
}
