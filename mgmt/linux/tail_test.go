package linux_test

import (
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/linux"
)

func TestTail(t *testing.T) {
	for _, tt := range []struct {
		writes []string
		want   string
	}{
		{nil, ""},
		{[]string{"ab"}, "ab"},
		{[]string{"ab", "cde"}, "bcde"},
		{[]string{"ab", strings.Repeat("x", 1<<20) + "1234"}, "1234"},
		{[]string{"abcd", "e", "f", "g"}, "defg"},
	} {
		tail := linux.Tail{Most: 4}
		for _, w := range tt.writes {
			if n, err := tail.Write([]byte(w)); n != len(w) || err != nil {
				t.Errorf("Write(%d bytes) = %d, %v", len(w), n, err)
			}
		}
		if got := tail.String(); got != tt.want {
			t.Errorf("after %.40q: %q, want %q", tt.writes, got, tt.want)
		}
	}
}
