package problem_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/tosca/problem"
)

func TestNearestFirst(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 100)
	for name, c := range map[string]struct {
		name  string
		among []string
		want  []string
	}{
		"similar":        {"ap_CP", []string{"db_CP", "web_CP", "app_CP"}, []string{"app_CP", "db_CP", "web_CP"}},
		"equally so":     {"c", []string{"b", "a"}, []string{"a", "b"}},
		"a long one":     {"x", []string{long, "yyyyyy"}, []string{"yyyyyy", long}},
		"for a long one": {long, []string{"b", "a"}, []string{"a", "b"}},
		"of none":        {"a", nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, problem.NearestFirst(c.name, c.among)); diff != "" {
				t.Error(diff)
			}
		})
	}
}
