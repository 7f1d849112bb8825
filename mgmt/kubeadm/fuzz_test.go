package kubeadm_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
)

// FuzzFstab: WithoutSwap changes only lines of swap, by a comment before them. A second call changes nothing.
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

// FuzzScriptLine: Line returns the last line with the label, without white space around it.
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

// FuzzCAHash: data without a certificate is an error, never a panic.
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
