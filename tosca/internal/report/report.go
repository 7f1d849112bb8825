// Package report collects the problems of a package while it is read.
package report

import (
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Limits for the problems of one package and the bytes of one message, so that a hostile package cannot fill the
// memory.
const (
	maxProblems = 1000
	maxMessage  = 1000
)

// Report collects faults: errors refuse the package, warnings do not. The zero Report is empty.
type Report struct {
	errors, warnings problem.List
}

// Add keeps a problem; without a severity it is an error.
func (r *Report) Add(p problem.Problem) {
	if len(p.Message) > maxMessage {
		p.Message = strings.ToValidUTF8(p.Message[:maxMessage], "") + "..."
	}
	kept := &r.warnings
	if p.Severity != problem.Warning {
		p.Severity = problem.Error
		kept = &r.errors
	}
	if len(*kept) < maxProblems {
		*kept = append(*kept, p)
	}
}

// Errorf keeps an error.
func (r *Report) Errorf(pos problem.Position, code problem.Code, format string, args ...any) {
	r.Add(problem.Problem{Position: pos, Severity: problem.Error, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Warnf keeps a warning.
func (r *Report) Warnf(pos problem.Position, code problem.Code, format string, args ...any) {
	r.Add(problem.Problem{Position: pos, Severity: problem.Warning, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Merge adds the problems of a second pass, which reports some faults of the first pass again with other codes.
func (r *Report) Merge(second *Report) {
	type fault struct {
		at   problem.Position
		code problem.Code
	}
	errors, all := map[fault]bool{}, map[fault]bool{}
	for _, p := range r.errors {
		errors[fault{p.Position, alike(p.Code)}] = true
		all[fault{p.Position, alike(p.Code)}] = true
	}
	for _, p := range r.warnings {
		all[fault{p.Position, alike(p.Code)}] = true
	}
	for _, p := range second.errors {
		if !errors[fault{p.Position, alike(p.Code)}] {
			r.Add(p)
		}
	}
	for _, p := range second.warnings {
		if !all[fault{p.Position, alike(p.Code)}] {
			r.Add(p)
		}
	}
}

// alike maps codes that two passes have for the same fault to one of them.
func alike(c problem.Code) problem.Code {
	switch c {
	case problem.MissingProperty:
		return problem.RequiredProperty
	case problem.Negative:
		return problem.Value
	}
	return c
}

// Take keeps an error that is a problem.Problem, and returns any other.
func (r *Report) Take(err error) error {
	var p problem.Problem
	if !errors.As(err, &p) {
		return err
	}
	r.Add(p)
	return nil
}

// Full reports whether further errors are not kept, so that there is no use in
// looking for them.
func (r *Report) Full() bool { return len(r.errors) >= maxProblems }

// Errors returns how many errors there are.
func (r *Report) Errors() int { return len(r.errors) }

// Err returns the errors as one problem.List, nil when there are none.
func (r *Report) Err() error {
	if len(r.errors) == 0 {
		return nil
	}
	return r.errors.Sorted()
}

// Warnings returns the warnings, sorted.
func (r *Report) Warnings() problem.List { return r.warnings.Sorted() }
