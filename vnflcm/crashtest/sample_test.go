package crashtest_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// splitStep describes a case that is written "step point".
func splitStep(name string) (step, whole string) {
	step, _, _ = strings.Cut(name, " ")
	return step, name
}

func TestSample(t *testing.T) {
	t.Parallel()
	var matrix []string
	for _, step := range []string{"reach", "packages", "init", "join", "members"} {
		for _, point := range crashtest.Points {
			matrix = append(matrix, step+" "+string(point))
		}
	}
	// The names are pinned: a change of the rule changes which cases every quick run takes.
	want := []string{"reach before Do", "packages inside Do", "init journal lost", "join after the journal", "members inside Do"}
	got := crashtest.Sample(matrix, splitStep)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	slices.Reverse(matrix)
	slices.Reverse(got)
	if diff := cmp.Diff(got, crashtest.Sample(matrix, splitStep)); diff != "" {
		t.Errorf("the order of the matrix changes the sample:\n%s", diff)
	}
	if got := crashtest.Sample(nil, splitStep); got != nil {
		t.Errorf("sample of nothing: %q", got)
	}
}
