package admin

import (
	"strings"
	"testing"
)

// TestTable checks that texts of clients cannot control a terminal, and that each row is one line.
func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := table(&out, [][]string{{"a", "b"}, {"\x1b[2Jwiped", ""}, {"two\nlines", "é"}, {"right\u202eleft", "tab\tx"}}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Count(text, "\n") != 4 || strings.ContainsAny(text, "\x1b\u202e\t") || !strings.Contains(text, "two; lines") || !strings.Contains(text, "é") {
		t.Errorf("%q", text)
	}
}
