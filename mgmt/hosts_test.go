package mgmt_test

import (
	"bytes"
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
)

func nodes(hosts ...string) []mgmt.Node {
	var out []mgmt.Node
	for _, h := range hosts {
		addr := netip.MustParseAddr(h)
		out = append(out, mgmt.Node{IP: addr, HostName: mgmt.HostName("worker", addr)})
	}
	return out
}

func TestHostsFile(t *testing.T) {
	t.Parallel()
	const ours = "# BEGIN vnfkit\n10.0.0.1 worker-10-0-0-1\n# END vnfkit\n"
	for name, c := range map[string]struct{ old, want string }{
		"empty":                 {"", ours},
		"others' lines":         {"127.0.0.1 localhost\n", "127.0.0.1 localhost\n" + ours},
		"no last newline":       {"127.0.0.1 localhost", "127.0.0.1 localhost\n" + ours},
		"replaced":              {"a\n# BEGIN vnfkit\nold\n# END vnfkit\nb\n", "a\n" + ours + "b\n"},
		"block at the end":      {"a\n# BEGIN vnfkit\n# END vnfkit\n", "a\n" + ours},
		"no newline at the end": {"a\n# BEGIN vnfkit\nold\n# END vnfkit", "a\n" + ours},
		// An incomplete block counts as text of another program: it and the text after it stay.
		"no end":            {"a\n# BEGIN vnfkit\nx\n", "a\n# BEGIN vnfkit\nx\n" + ours},
		"no begin":          {"a\n# END vnfkit\nx\n", "a\n# END vnfkit\nx\n" + ours},
		"half a block":      {"# BEGIN vnfkit\nx\n" + ours, "# BEGIN vnfkit\nx\n" + ours},
		"not a line of its": {"1.2.3.4 x# BEGIN vnfkit\n5.6.7.8 y\n# END vnfkit\n", "1.2.3.4 x# BEGIN vnfkit\n5.6.7.8 y\n# END vnfkit\n" + ours},
		"end in a comment":  {"# BEGIN vnfkit\n10.0.0.9 x\n## END vnfkit\nb\n", "# BEGIN vnfkit\n10.0.0.9 x\n## END vnfkit\nb\n" + ours},
		"carriage returns":  {"a\r\n", "a\r\n" + ours},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, string(mgmt.HostsFile([]byte(c.old), nodes("10.0.0.1")))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// FuzzHostsFile: whatever there is outside the block stays byte for byte, and doing it again changes nothing.
func FuzzHostsFile(f *testing.F) {
	for _, seed := range []string{"", "a", "a\n", "# BEGIN vnfkit\n", "# END vnfkit\n", "# BEGIN vnfkit\nx\n# END vnfkit\ny",
		"# END vnfkit\n# BEGIN vnfkit\n", "# BEGIN vnfkit\n# END vnfkit", "# BEGIN vnfkit\n# BEGIN vnfkit\n# END vnfkit\n# END vnfkit\n", "x# BEGIN vnfkit\n# END vnfkit\n", "\x00\xff"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, old []byte) {
		kept := bytes.Clone(old)
		first := mgmt.HostsFile(old, nodes("10.0.0.1", "10.0.0.2"))
		if !bytes.Equal(kept, old) {
			t.Fatal("the argument was changed")
		}
		if again := mgmt.HostsFile(first, nodes("10.0.0.1", "10.0.0.2")); !bytes.Equal(first, again) {
			t.Fatalf("not idempotent: %q, then %q", first, again)
		}
		block := "# BEGIN vnfkit\n10.0.0.1 worker-10-0-0-1\n10.0.0.2 worker-10-0-0-2\n# END vnfkit\n"
		before, after, found := strings.Cut(string(first), block)
		if !found {
			t.Fatalf("no block in %q", first)
		}
		// What is there now is what was there, but for one block of ours or a missing newline at the end.
		if s := string(old); before+after != s && before+after != s+"\n" &&
			(!strings.HasPrefix(s, before+"# BEGIN vnfkit\n") || !strings.HasSuffix(s+"\n", "# END vnfkit\n"+after+"\n") && !strings.HasSuffix(s, "# END vnfkit")) {
			t.Fatalf("%q became %q", old, first)
		}
	})
}

var rfc1123 = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

func TestHostName(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string]string{
		"10.10.0.7":          "worker-10-10-0-7",
		"::ffff:10.10.0.7":   "worker-10-10-0-7",
		"2001:db8::7":        "worker-2001-0db8-0000-0000-0000-0000-0000-0007",
		"fe80::1%eth0":       "worker-fe80-0000-0000-0000-0000-0000-0000-0001",
		"255.255.255.255":    "worker-255-255-255-255",
		"ffff:ffff:ffff::ff": "worker-ffff-ffff-ffff-0000-0000-0000-0000-00ff",
	} {
		if got := mgmt.HostName("worker", netip.MustParseAddr(addr)); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}

// FuzzHostName: names are valid, and two addresses never have the same.
func FuzzHostName(f *testing.F) {
	f.Add([]byte{10, 10, 0, 7}, []byte{10, 10, 1, 7})
	f.Add([]byte{1, 11, 1, 1}, []byte{11, 1, 1, 1})
	f.Add(netip.MustParseAddr("2001:db8::1").AsSlice(), netip.MustParseAddr("2001:db8:1::").AsSlice())
	f.Fuzz(func(t *testing.T, one, two []byte) {
		a, ok1 := netip.AddrFromSlice(one)
		b, ok2 := netip.AddrFromSlice(two)
		if !ok1 || !ok2 {
			return // no addresses: every seed is one
		}
		x, y := mgmt.HostName("master", a), mgmt.HostName("master", b)
		if !rfc1123.MatchString(x) {
			t.Errorf("%s: %q is no RFC 1123 label", a, x)
		}
		if (x == y) != (a.Unmap() == b.Unmap()) {
			t.Errorf("%s is %s, %s is %s", a, x, b, y)
		}
	})
}
