package problem

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Position says where in a package something stands. File is the slash
// separated path inside the package; Line and Column start at 1 and are 0 when
// the whole file (or the package itself) is meant.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String renders "file:line:col", or only what is known of it.
func (p Position) String() string {
	switch {
	case p.File == "":
		return "package"
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Severity says whether a problem refuses the package or is a warning.
type Severity string

const (
	// Error refuses the package.
	Error Severity = "error"
	// Warning is a fault that a VNFM can live with.
	Warning Severity = "warning"
)

// Code names a kind of problem, for instance "csar.zip-slip". Codes are stable: a program may store and compare them.
// The part before the dot names the part of the package at fault: the archive (csar), the YAML (yaml), the TOSCA
// grammar (tosca) or the descriptor (vnfd).
type Code string

// Description says in one or two sentences what problems of this kind are; "" for a code that this package does not have.
func (c Code) Description() string { return descriptions[c] }

// Problem is one fault found in a package. It is an error.
type Problem struct {
	Position
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	// Message describes the fault.
	Message string `json:"message"`
	// Expected says what would be right, where that is not in the message; "" else.
	Expected string `json:"expected,omitempty"`
	// Nearest is the valid name that is most similar to the wrong one, "" if none is similar.
	Nearest string `json:"nearest,omitempty"`
	// Quirk names the deviation that makes this problem a warning, or would if it were allowed; "" if the problem is
	// always an error.
	Quirk Quirk `json:"quirk,omitempty"`
}

// Error renders "file:line:col: text [code]".
func (p Problem) Error() string {
	return p.Position.String() + ": " + p.Text() + " [" + string(p.Code) + "]"
}

// Text renders the message, followed by the expected value and the nearest valid name.
func (p Problem) Text() string {
	text := p.Message
	if p.Expected != "" {
		text += "; expected " + p.Expected
	}
	if p.Nearest != "" {
		text += fmt.Sprintf("; did you mean %q?", p.Nearest)
	}
	return text
}

// String is the same as Error.
func (p Problem) String() string { return p.Error() }

// Is reports whether target is a Problem of the same Code that leaves everything
// else empty: errors.Is(err, problem.Problem{Code: problem.ZipSlip}).
func (p Problem) Is(target error) bool {
	t, ok := target.(Problem)
	return ok && t == Problem{Code: p.Code}
}

// List holds every fault found in one pass, sorted by position. It is an error; errors.As and errors.Is find the single
// faults.
type List []Problem

// Error renders all problems, one per line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single problems to errors.Is and errors.As.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, p := range l {
		errs[i] = p
	}
	return errs
}

// Sorted returns l ordered by file, line, column and code, without repetitions: a
// file that several flavours share is looked at once for each.
func (l List) Sorted() List {
	l = slices.Clone(l)
	slices.SortFunc(l, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(l)
}
