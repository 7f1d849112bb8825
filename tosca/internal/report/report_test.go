package report_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/internal/report"
	"github.com/vnfkit/vnfkit/tosca/problem"
)

// TestMerge checks that a second pass adds new problems, and errors for faults of which the first pass only warned.
func TestMerge(t *testing.T) {
	at := func(line int) problem.Position { return problem.Position{File: "f", Line: line, Column: 1} }
	first, second := &report.Report{}, &report.Report{}
	first.Errorf(at(1), problem.Type, "first")
	first.Warnf(at(2), problem.RequiredProperty, "first")
	first.Warnf(at(3), problem.Misplaced, "first")

	second.Errorf(at(1), problem.Type, "again")
	second.Errorf(at(1), problem.FlavourID, "another fault at the same place")
	second.Errorf(at(2), problem.MissingProperty, "worse than a warning")
	second.Warnf(at(3), problem.Misplaced, "again")
	second.Warnf(at(4), problem.LevelMismatch, "new")
	second.Errorf(at(5), problem.MissingProperty, "new")
	second.Errorf(at(5), problem.MissingProperty, "two of a kind")
	first.Merge(second)

	want := "f:1:1: first [tosca.wrong-type]\n" +
		"f:1:1: another fault at the same place [vnfd.flavour-id]\n" +
		"f:2:1: worse than a warning [vnfd.missing-property]\n" +
		"f:5:1: new [vnfd.missing-property]\n" +
		"f:5:1: two of a kind [vnfd.missing-property]"
	if diff := cmp.Diff(want, first.Err().Error()); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	want = "f:2:1: first [tosca.missing-property]\nf:3:1: first [vnfd.misplaced]\nf:4:1: new [vnfd.level-mismatch]"
	if diff := cmp.Diff(want, first.Warnings().Error()); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}
