package tosca

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Check opens the package at name as Open does, reads all of it as Archive.Verify
// does, closes it, and returns everything that is wrong with it, warnings included,
// sorted by position. Faults of the descriptor do not keep those of the files from
// being found, nor the other way round, as long as the archive itself is sound. The
// error is about a package that could not be read at all: no such file, a failing
// disk, a cancelled context.
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
