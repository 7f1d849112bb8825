package kubeadm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
)

// FuzzFstab: only swap lines change, by a comment before them; doing it again changes nothing.
func FuzzFstab(f *testing.F) {
	for _, seed := range []string{
		"", "UUID=1 / ext4 defaults 0 1\n/swap.img none swap sw 0 0\n", "#/dev/sda2 none swap sw 0 0\n", "\t/dev/sda2\tnone\tswap\tsw\n",
		"/dev/sda1 /swap ext4 defaults", "/dev/sda2 none swap sw", "a b swap\r\nc d ext4\r\n", "# /dev/x none swap\n \n", "\x00 \xff swap\n", "0\r0 0 swap",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, table []byte) {
		out := kubeadm.WithoutSwap(table)
		if again := kubeadm.WithoutSwap(out); !bytes.Equal(out, again) {
			t.Errorf("not idempotent: %q, then %q", out, again)
		}
		old, now := strings.SplitAfter(string(table), "\n"), strings.SplitAfter(string(out), "\n")
		if len(old) != len(now) {
			t.Fatalf("%d lines became %d", len(old), len(now))
		}
		for i := range old {
			fields := strings.FieldsFunc(old[i], func(r rune) bool { return r == ' ' || r == '\t' || r == '\n' })
			isSwap := len(fields) > 2 && strings.TrimSpace(fields[2]) == "swap" && !strings.HasPrefix(strings.TrimSpace(fields[0]), "#")
			if rest, commented := strings.CutPrefix(now[i], "# vnfkit: "); commented && rest == old[i] {
				continue
			}
			if now[i] != old[i] || isSwap {
				t.Errorf("%q became %q", old[i], now[i])
			}
		}
	})
}

// FuzzProxyDropIn: systemd reads back each value as it is, and no line more than ours.
func FuzzProxyDropIn(f *testing.F) {
	for _, seed := range []string{"", "http://u:p@h:1", `a"b`, `a\`, "%h %%", "a\nExecStart=/bin/sh", "a\\nb", "\t ' $(id) `id`", "\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		unit := kubeadm.ProxyDropIn(map[string]string{"http_proxy": value, "https_proxy": "x", "no_proxy": value})
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

// FuzzScriptLine: the last line with the label counts, without white space around it.
func FuzzScriptLine(f *testing.F) {
	for _, seed := range []string{"", "token:abc", "x\n token: abc \r\ntoken:def\n", "nottoken:abc\n", "token:", "token:\ntoken:x\ntoken:\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, out string) {
		got := kubeadm.ScriptLine(out, "token:")
		if strings.TrimSpace(got) != got || got != "" && !strings.Contains(out, got) || strings.Contains(got, "\n") {
			t.Errorf("%q in %q", got, out)
		}
		if after := kubeadm.ScriptLine(out+"\n  token: last one \nmore", "token:"); after != "last one" {
			t.Errorf("%q after %q", after, out)
		}
	})
}

// FuzzCAHash: no certificate is an error, never a panic.
func FuzzCAHash(f *testing.F) {
	f.Add([]byte(""))
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if hash, err := kubeadm.CAHash(data); err == nil && !strings.HasPrefix(hash, "sha256:") {
			t.Errorf("%q", hash)
		}
	})
}

func TestTokensHaveTheirForm(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		token := kubeadm.NewToken()
		if bootstrapToken.FindString(token) != token || seen[token] {
			t.Errorf("%q", token)
		}
		seen[token] = true
	}
}
