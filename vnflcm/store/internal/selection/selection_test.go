package selection

import (
	"strings"
	"testing"
	"unicode/utf8"
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
