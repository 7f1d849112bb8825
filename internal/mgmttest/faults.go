package mgmttest

import (
	"errors"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Faults lists the faults of parameters in an error, sorted.
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

// Under puts the name of a parameter before faults of its attributes.
func Under(param string, faults []string) (out []string) {
	for _, f := range faults {
		out = append(out, "additionalParams."+param+"."+f)
	}
	return out
}

// Refused checks that a request was refused before anything was changed. Requests with a secret use "hunter2", which
// must not appear in any output.
func (l *Lab) Refused(err error) {
	l.t.Helper()
	if !errors.Is(err, vnflcm.ErrInvalidRequest) || strings.Contains(err.Error(), "hunter2") || len(err.Error()) > 8192 {
		l.t.Errorf("the error is %v", err)
	}
	if n := len(l.World.Hosts()); n > 0 {
		l.t.Errorf("%d machines were made", n)
	}
	if strings.Contains(l.Log(), "hunter2") {
		l.t.Error("the log has a secret")
	}
}
