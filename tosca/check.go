package tosca

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Check opens the package at name as Open does, reads all of it as Archive.Verify does, closes it, and returns all
// faults, warnings included, sorted by position. As long as the archive itself is sound, the descriptor and the files
// are both checked, whichever of them has faults. The error reports that the package could not be read at all: no such
// file, a failing disk, a cancelled context.
func Check(ctx context.Context, name string, opts ...Option) (problem.List, error) {
	s := settingsFrom(opts)
	a, err := csar.Open(ctx, name, s.archive)
	if err != nil {
		return onlyProblems(err)
	}
	defer a.Close()
	p := &Package{Archive: a}
	parsed, failed := onlyProblems(p.parse(ctx, s))
	verified, unread := onlyProblems(a.Verify(ctx))
	all := append(append(parsed, verified...), p.Warnings()...)
	return all.Sorted(), errors.Join(failed, unread)
}

// onlyProblems returns the problems that an error consists of, or the error when
// it is of another kind.
func onlyProblems(err error) (problem.List, error) {
	var found problem.List
	if errors.As(err, &found) {
		return found, nil
	}
	return nil, err
}
