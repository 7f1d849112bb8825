package selection

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vnfkit/vnfkit/vnflcm"
)

func TestAfterPrefix(t *testing.T) {
	t.Parallel()
	for prefix, want := range map[string]string{
		"": "", "a": "b", "i1/": "i10", "ü": "ý", "aÿ": "aĀ", "a\u07ff": "a\u0800", "a\ud7ff": "a\ue000", "a\uffff": "a\U00010000",
		"a\U0010ffff": "b", "\U0010ffff": "", "a\xc3": "a\xc4", "a\xff": "b",
	} {
		got := afterPrefix(prefix)
		if got != want {
			t.Errorf("afterPrefix(%q) = %q, want %q", prefix, got, want)
		}
		if got != "" && (strings.HasPrefix(got, prefix) || got <= prefix || utf8.ValidString(prefix) && !utf8.ValidString(got)) {
			t.Errorf("afterPrefix(%q) = %q: too small, or not UTF-8", prefix, got)
		}
	}
}

// TestPartialIndexes wants the conditions of the partial indexes in the text, but not where they would leave records out.
func TestPartialIndexes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q         vnflcm.Query
		condition string
		want      bool
	}{
		"state":              {vnflcm.Query{States: []string{"PROCESSING"}}, "state <> ''", true},
		"no state":           {vnflcm.Query{States: []string{""}}, "state <> ''", false},
		"state of instance":  {vnflcm.Query{States: []string{"PROCESSING"}, Instance: "i1"}, "state <> ''", false},
		"instance":           {vnflcm.Query{Instance: "i1"}, "instance <> ''", true},
		"without conditions": {vnflcm.Query{}, "<> ''", false},
	} {
		text, _ := Of(c.q, func(int) string { return "?" })
		if strings.Contains(text, c.condition) != c.want {
			t.Errorf("%s: %s", name, text)
		}
	}
}
