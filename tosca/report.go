package tosca

import (
	"fmt"
	"strings"
)

// What is kept of a package made to be faulty: so many problems, with messages of
// so many bytes.
const (
	maxProblems = 1000
	maxMessage  = 1000
)

// report collects what is found wrong: errors refuse the package, warnings do
// not.
type report struct {
	errors, warnings Problems
}

func (r *report) errorf(pos Position, code, format string, args ...any) {
	if len(r.errors) < maxProblems {
		r.errors = append(r.errors, problem(pos, code, format, args...))
	}
}

func (r *report) warnf(pos Position, code, format string, args ...any) {
	if len(r.warnings) < maxProblems {
		r.warnings = append(r.warnings, problem(pos, code, format, args...))
	}
}

func problem(pos Position, code, format string, args ...any) Problem {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = strings.ToValidUTF8(message[:maxMessage], "") + "..."
	}
	return Problem{Position: pos, Code: code, Message: message}
}

// err returns the errors as one, nil when there are none.
func (r *report) err() error {
	if len(r.errors) == 0 {
		return nil
	}
	return r.errors.sorted()
}
