package tosca

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
	File   string
	Line   int
	Column int
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

// Problem is one fault found in a package: where, what, and a Code that does
// not change between releases (see the Code constants), so that programs can
// tell faults apart without reading the message. It is an error.
type Problem struct {
	Position
	// Code is one of the Code constants.
	Code string
	// Message says what is wrong and, where it helps, what would be right.
	Message string
}

// Error renders "file:line:col: message [code]".
func (p Problem) Error() string {
	return p.Position.String() + ": " + p.Message + " [" + p.Code + "]"
}

// String is the same as Error.
func (p Problem) String() string { return p.Error() }

// Is reports whether target is a Problem of the same Code that leaves its
// position and message empty: errors.Is(err, tosca.Problem{Code: tosca.CodeZipSlip}).
func (p Problem) Is(target error) bool {
	t, ok := target.(Problem)
	return ok && t == Problem{Code: p.Code}
}

// Problems holds every fault found in one pass, sorted by position. It is an
// error whose single faults errors.As and errors.Is find.
type Problems []Problem

// Error renders all problems, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the single problems to errors.Is and errors.As.
func (ps Problems) Unwrap() []error {
	errs := make([]error, len(ps))
	for i, p := range ps {
		errs[i] = p
	}
	return errs
}

// sorted orders ps by file, line, column and code, and drops repetitions: a file
// that several flavours share is looked at once for each.
func (ps Problems) sorted() Problems {
	slices.SortFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Code, b.Code),
			cmp.Compare(a.Message, b.Message),
		)
	})
	return slices.Compact(ps)
}
