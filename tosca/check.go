package tosca

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/tosca/csar"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// Check opens the package at name as Open does, reads the whole package as Archive.Verify does, and closes it. It returns all
// faults, including warnings, sorted by position. If the archive itself is valid, Check checks both the descriptor and the files,
// even if one of them has faults. It returns an error only if it cannot read the package: the file does not exist, the disk
// fails, or ctx ends.
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

// onlyProblems returns the problems of an error that is a problem.List, and any other error unchanged.
func onlyProblems(err error) (problem.List, error) {
	var found problem.List
	if errors.As(err, &found) {
		return found, nil
	}
	return nil, err
}
