// Package report collects the problems of a package while it is read.
package report

import (
	"errors"
	"fmt"
	"slices"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Limits for the problems of one package and the bytes of one message, so that a hostile package cannot fill the
// memory.
const (
	maxProblems = 1000
	maxMessage  = 1000
)

// Report collects the faults of a package. A package with errors is refused, a package with warnings is accepted. The zero
// Report is empty.
type Report struct {
	errors, warnings problem.List
}

// Add adds a problem. A problem without a severity counts as an error.
func (r *Report) Add(p problem.Problem) {
	p.Message = bounded.Text(p.Message, maxMessage)
	kept := &r.warnings
	if p.Severity != problem.Warning {
		p.Severity = problem.Error
		kept = &r.errors
	}
	if len(*kept) < maxProblems {
		*kept = append(*kept, p)
	}
}

// Errorf adds an error.
func (r *Report) Errorf(pos problem.Position, code problem.Code, format string, args ...any) {
	r.Add(problem.Problem{Position: pos, Severity: problem.Error, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Warnf adds a warning.
func (r *Report) Warnf(pos problem.Position, code problem.Code, format string, args ...any) {
	r.Add(problem.Problem{Position: pos, Severity: problem.Warning, Code: code, Message: fmt.Sprintf(format, args...)})
}

// Demote makes all errors warnings.
func (r *Report) Demote() {
	for _, p := range r.errors {
		p.Severity = problem.Warning
		r.warnings = append(r.warnings, p)
	}
	r.errors = nil
}

// Merge adds the problems of a second pass, except those that the first pass has reported. The passes may use different codes
// for the same fault.
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

// alike returns the same code for the codes that the two passes use for the same fault.
func alike(c problem.Code) problem.Code {
	switch c {
	case problem.MissingProperty:
		return problem.RequiredProperty
	case problem.Negative:
		return problem.Value
	}
	return c
}

// Take adds err and returns nil if err is a problem.Problem. It returns any other error.
func (r *Report) Take(err error) error {
	var p problem.Problem
	if !errors.As(err, &p) {
		return err
	}
	r.Add(p)
	return nil
}

// Full reports whether Add drops further errors, so that the caller can stop looking for them.
func (r *Report) Full() bool { return len(r.errors) >= maxProblems }

// Mentions reports whether a problem of a file was added.
func (r *Report) Mentions(file string) bool {
	isInFile := func(p problem.Problem) bool { return p.File == file }
	return slices.ContainsFunc(r.errors, isInFile) || slices.ContainsFunc(r.warnings, isInFile)
}

// Errors returns the number of errors.
func (r *Report) Errors() int { return len(r.errors) }

// Err returns the errors as one problem.List, nil without errors.
func (r *Report) Err() error {
	if len(r.errors) == 0 {
		return nil
	}
	return r.errors.Sorted()
}

// Warnings returns the warnings, sorted.
func (r *Report) Warnings() problem.List { return r.warnings.Sorted() }
