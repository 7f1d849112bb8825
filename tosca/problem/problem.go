package problem

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Position is a position in a package. File is the slash-separated path inside the package. Line and Column start at 1, and are 0 for the
// whole file or the package itself.
type Position struct {
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
}

// String returns "file:line:col", without the parts that are not known.
func (p Position) String() string {
	switch {
	case p.File == "":
		return "package"
	case p.Line == 0:
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// Severity is the effect of a problem: it refuses the package or is a warning.
type Severity string

const (
	// Error refuses the package.
	Error Severity = "error"
	// Warning does not prevent the use of the package.
	Warning Severity = "warning"
)

// Code names a kind of problem, for instance "csar.zip-slip". Codes are stable: a program may store and compare them.
// The part before the dot names the part of the package at fault: the archive (csar), the YAML (yaml), the TOSCA
// grammar (tosca) or the descriptor (vnfd).
type Code string

// Codes returns all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(descriptions)) }

// Description returns a description of this kind of problems in one or two sentences, "" for an unknown code.
func (c Code) Description() string { return descriptions[c] }

// Problem is one fault found in a package. It is an error.
type Problem struct {
	Position
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	// Message describes the fault.
	Message string `json:"message"`
	// Expected describes a valid value. It is "" if Message does.
	Expected string `json:"expected,omitempty"`
	// Nearest is the valid name that is most similar to the wrong one, "" if none is similar.
	Nearest string `json:"nearest,omitempty"`
	// Quirk names the deviation that makes this problem a warning, or would if it were allowed; "" if the problem is
	// always an error.
	Quirk Quirk `json:"quirk,omitempty"`
}

// Error returns "file:line:col: text [code]".
func (p Problem) Error() string {
	return p.Position.String() + ": " + p.Text() + " [" + string(p.Code) + "]"
}

// Text returns the message, followed by the expected value and the nearest valid name.
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

// String returns the same text as Error.
func (p Problem) String() string { return p.Error() }

// Is reports whether target is a Problem with the same Code and no other fields: errors.Is(err, problem.Problem{Code: problem.ZipSlip}).
func (p Problem) Is(target error) bool {
	t, ok := target.(Problem)
	return ok && t == Problem{Code: p.Code}
}

// List holds all faults of one pass, sorted by position. It is an error; errors.As and errors.Is find the single faults.
type List []Problem

// Error returns all problems, one per line.
func (l List) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single problems.
func (l List) Unwrap() []error {
	errs := make([]error, len(l))
	for i, p := range l {
		errs[i] = p
	}
	return errs
}

// Sorted returns l sorted by file, line, column and code, without duplicates, because a file that several flavours share is checked once
// for each flavour.
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
