package linux_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/linux"
)

// FuzzProxyDropIn: systemd reads back each value as it is, and no line more than ours.
func FuzzProxyDropIn(f *testing.F) {
	for _, seed := range []string{"", "http://u:p@h:1", `a"b`, `a\`, "%h %%", "a\nExecStart=/bin/sh", "a\\nb", "\t ' $(id) `id`", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		unit := string(linux.ProxyDropIn(map[string]string{"http_proxy": value, "https_proxy": "x", "no_proxy": value}))
		lines := strings.Split(strings.TrimSuffix(unit, "\n"), "\n")
		if len(lines) != 4 || lines[0] != "[Service]" {
			t.Fatalf("%q", unit)
		}
		for i, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} {
			want := value
			if name == "HTTPS_PROXY" {
				want = "x"
			}
			quoted, ok := strings.CutPrefix(lines[i+1], `Environment="`+name+"=")
			got, closed := unquote(quoted)
			if !ok || !closed || got != want {
				t.Errorf("%s: %q is read as %q", name, lines[i+1], got)
			}
		}
	})
}

// unquote reads what is left of a double-quoted string of systemd.syntax(7), with the specifier %%.
func unquote(s string) (text string, closed bool) {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return out.String(), i == len(s)-1
		case s[i] == '\\' && i+1 < len(s):
			i++
			out.WriteString(map[byte]string{'n': "\n", '"': `"`, '\\': `\`}[s[i]])
		case s[i] == '%' && i+1 < len(s) && s[i+1] == '%':
			i++
			out.WriteByte('%')
		case s[i] == '%':
			return out.String(), false
		default:
			out.WriteByte(s[i])
		}
	}
	return out.String(), false
}

// FuzzSources: the file of an accepted repository has exactly the expected lines.
func FuzzSources(f *testing.F) {
	for _, seed := range [][3]string{{"https://pkgs.k8s.io/core:/stable:/v1.35/deb/", "/", ""}, {"http://[::1]:80/x", "stable", "main"},
		{"https://x/\nTrusted: yes", "/", ""}, {"https://x/ [trusted=yes]", "a b", "c\nd"}, {"https://$(ARCH)/", "stable/", "main"}} {
		f.Add(seed[0], seed[1], seed[2])
	}
	f.Fuzz(func(t *testing.T, address, suite, component string) {
		r := linux.Repository{URL: address, Suite: suite, KeyPath: "key.asc"}
		names := []string{"Types", "URIs", "Suites", "Signed-By"}
		if component != "" {
			r.Components = []string{component}
			names = []string{"Types", "URIs", "Suites", "Components", "Signed-By"}
		}
		if r.Validate(keys.open) != nil {
			return
		}
		text := linux.Sources(r, "/etc/apt/keyrings/vnfkit-x.asc")
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != len(names) {
			t.Fatalf("%q", text)
		}
		for i, line := range lines {
			name, value, _ := strings.Cut(line, ": ")
			if name != names[i] || value == "" || strings.ContainsAny(value, " $[]\t") && name != "URIs" || strings.ContainsAny(value, " $\t\"") {
				t.Errorf("%q", line)
			}
		}
	})
}

var dirForm = regexp.MustCompile(`^(/[A-Za-z0-9_][A-Za-z0-9._-]*)+$`)

// FuzzMountUnit: the name of the unit is the path again, as systemd reads it, and no other path has it.
func FuzzMountUnit(f *testing.F) {
	for _, seed := range []string{"/volume", "/volume-1/nfs", "/a.b/c_d-e", "/a-b/c", "/a/b-c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, dir string) {
		if !dirForm.MatchString(dir) {
			return // no directory that a driver would mount at
		}
		unit, ok := strings.CutSuffix(linux.MountUnit(dir), ".mount")
		back := strings.ReplaceAll("/"+strings.ReplaceAll(unit, "-", "/"), `\x2d`, "-")
		if !ok || back != dir || strings.ContainsAny(unit, "/ %\n") {
			t.Errorf("%q: %q: %q", dir, unit, back)
		}
	})
}
