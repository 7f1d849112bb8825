package sshexec_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/sshexec"
)

// FuzzNames checks that names with any bytes are separated correctly, whatever the pieces of the list are.
func FuzzNames(f *testing.F) {
	f.Add("a", "b\nc", "./", 1)
	f.Add("\xff", " ", "'", 100)
	f.Add(strings.Repeat("n", 5000), strings.Repeat("d/", 200), "c", 4096)
	f.Fuzz(func(t *testing.T, a, b, c string, step int) {
		bounded := true
		for _, name := range []*string{&a, &b, &c} {
			*name = strings.ReplaceAll(*name, "\x00", "") // names cannot contain NUL
			bounded = bounded && len(*name) < 4000 && strings.Count(*name, "/") <= 100
		}
		step = max(1, step)
		told := "./" + a + "x\x00./" + b + "x\x00\x00" + "\x00./" + c + "x\x00\x00"
		lists, whole := sshexec.Names([]byte(told), step)
		if !bounded {
			for _, list := range lists {
				for _, name := range list {
					if len(name) > 4096 || strings.Count(name, "/") > 100 {
						t.Errorf("a name of %d bytes is accepted", len(name))
					}
				}
			}
			return
		}
		want := [3][]string{{a + "x", b + "x"}, nil, {c + "x"}}
		if diff := cmp.Diff(want, lists); !whole || diff != "" {
			t.Error(whole, diff)
		}
		if _, whole := sshexec.Names([]byte(told[:len(told)-1]), step); whole {
			t.Error("an incomplete list counts as complete")
		}
		if _, whole := sshexec.Names([]byte(told+"x\x00"), step); whole {
			t.Error("a list with additional data counts as complete")
		}
	})
}

func FuzzDigestLine(f *testing.F) {
	hex := strings.Repeat("0a", 32)
	for _, line := range []string{hex + " *f", hex + "  f g", hex, hex + " ", hex + "  ", "\\" + hex + "  a\\nb", "", " "} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		digest, name, ok := sshexec.DigestLine(line)
		if ok && (len(digest) != 64 || name == "" || !strings.HasPrefix(line, digest+" ") || !strings.HasSuffix(line, name)) {
			t.Errorf("%q %q", digest, name)
		}
	})
}
