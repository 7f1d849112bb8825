package sshexec_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

func TestMask(t *testing.T) {
	tests := []struct {
		text    string
		secrets []string
		want    string
	}{
		{"a b c", nil, "a b c"},
		{"a b c", []string{""}, "a b c"},
		{"password hunter2!", []string{"hunter2"}, "password ***!"},
		{"abcdef", []string{"bc", "cde"}, "a***f"},           // overlapping
		{"hunter22", []string{"hunter2", "hunter22"}, "***"}, // one within the other
		{"aaaa", []string{"aa"}, "***"},
		{`x 'it'"'"'s' y`, []string{"it's"}, "x *** y"},
		{`x 'it'\''s' y`, []string{"it's"}, "x '***' y"},
		{"key:\n  MIIEabcdefgh\n  IJKLmnopqrst", []string{"MIIEabcdefgh\nIJKLmnopqrst"}, "key:\n  ***\n  ***"},
	}
	for _, tt := range tests {
		if got := sshexec.Mask(tt.text, tt.secrets...); got != tt.want {
			t.Errorf("%q without %q: got %q, want %q", tt.text, tt.secrets, got, tt.want)
		}
	}
}

func FuzzMask(f *testing.F) {
	f.Add("a hunter2 b", "hunter2", "ter", 3)
	f.Add("it's 'it'\"'\"'s' \n", "it's", "'", 1)
	f.Add("aXbXcaXb", "aXb", "bXc", 2)
	f.Add("line\nline two\n", "line\nline two", "two", 5)
	f.Add(strings.Repeat("x", 9000)+"abc", "xxabc", "xa", 7)
	f.Add("\xd5", "0", "\x81", 1)
	f.Fuzz(func(t *testing.T, text, one, two string, step int) {
		if strings.Contains("***", one) || strings.Contains("***", two) || strings.Contains(one+two, "*") {
			t.Skip("stars are what is left on purpose")
		}
		step = max(1, step&0xffff)
		clean := func(s string) string { return strings.ToValidUTF8(s, "?") }
		noneLeft(t, "mask", sshexec.Mask(text+one+two+text, one, two), one, two)
		noneLeft(t, "tail", sshexec.Tail(clean(text)+clean(one)+clean(text)+clean(two), step, clean(one), clean(two)), clean(one), clean(two))
		noneLeft(t, "command", fmt.Sprint(sshexec.Command{Argv: []string{text, one, "--x=" + two + text}, Secrets: []string{one, two}}), one, two)
	})
}

// noneLeft looks between the masks: what stands there was together with no secret.
func noneLeft(t *testing.T, where, got string, secrets ...string) {
	t.Helper()
	for part := range strings.SplitSeq(got, "***") {
		for _, secret := range secrets {
			if secret != "" && strings.Contains(part, secret) {
				t.Errorf("%s: %q is still in %q", where, secret, got)
			}
		}
	}
}

func TestTailKeepsNoPieceOfASecret(t *testing.T) {
	secret := "0123456789abcdef"
	for pad := range 64 {
		text := strings.Repeat("-", 100) + secret + strings.Repeat("-", 4096-pad) + "end"
		got := sshexec.Tail(text, 1000, secret)
		if strings.ContainsAny(got, "0123456789") {
			t.Fatalf("pad %d: a piece is left at the beginning of the tail: %.30q", pad, got)
		}
		if !strings.HasSuffix(got, "end") || len(got) > 4096+len("***") {
			t.Fatalf("pad %d: %d bytes", pad, len(got))
		}
	}
}

func TestSecretsPrintAsStars(t *testing.T) {
	const canary = "canary-7f3a"
	auth := sshexec.Password(canary)
	sudo := sshexec.SudoPassword(canary)
	locked := sshexec.PrivateKeyFile("/no/such/file", canary)
	tgt := sshexec.Target{Addr: "192.0.2.1", User: "u", Auth: []sshexec.Auth{auth, locked}, Sudo: sudo}
	tgt.Via = &sshexec.Target{Addr: "192.0.2.2", User: "u", Auth: []sshexec.Auth{auth, locked}, Sudo: sudo}
	hidden := struct {
		target  sshexec.Target
		auth    sshexec.Auth
		pointer *sshexec.Auth
		sudo    any
	}{tgt, auth, &auth, sudo}
	command := sshexec.Command{Argv: []string{"x", canary}, Secrets: []string{canary}, Env: map[string]string{"P": canary}}
	host := sshexec.NewPool(sshexec.Options{}).Host(tgt)
	for _, value := range []any{auth, &auth, locked, sudo, &sudo, tgt, &tgt, hidden, &hidden, command, &command, []sshexec.Auth{auth}, host} {
		var log strings.Builder
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "v", value)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "v", value)
		asJSON, _ := json.Marshal(value)
		for _, text := range []string{
			fmt.Sprintf("%v %+v %#v %s %q %x %d", value, value, value, value, value, value, value), string(asJSON), log.String(),
		} {
			if strings.Contains(text, canary) || strings.Contains(text, fmt.Sprintf("%x", canary)) {
				t.Errorf("%T leaks: %s", value, text)
			}
		}
	}
	if got := fmt.Sprintf("%v %#v", auth, sudo); got != "*** ***" {
		t.Errorf("got %s", got)
	}
	if err := json.Unmarshal([]byte(`"***"`), &auth); err == nil {
		t.Error("a credential came back from ***")
	}
	if err := json.Unmarshal([]byte(`"***"`), &sudo); err == nil {
		t.Error("a password came back from ***")
	}
}
