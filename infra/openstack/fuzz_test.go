package openstack

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"
)

// FuzzConsoleLog checks that a console log leads to at most one host key, which SSH accepts. The log is untrusted, because the machine and
// every user of its console can write to it.
func FuzzConsoleLog(f *testing.F) {
	recorded, err := os.ReadFile("testdata/console.log")
	if err != nil || hostKeyIn(string(recorded)) == "" {
		f.Fatalf("no key in the recorded log: %v", err)
	}
	f.Add(string(recorded))
	key := hostKeyIn(string(recorded))
	f.Add(keysBegin + "\r\n" + key + "\r\n" + keysEnd + "\r\n")
	f.Add(keysEnd + keysBegin + key)
	f.Add(keysBegin + "\n" + keysBegin + "\ncommand=\"x\" " + key + "\n" + keysEnd + keysEnd)
	f.Add("[ 12.3] " + keysBegin + "\n[ 12.4] random: crng\n" + key + "\x00\n" + keysEnd)
	f.Add(strings.Repeat("x", maxConsole) + keysBegin + "\n" + key + "\n" + keysEnd)
	f.Fuzz(func(t *testing.T, log string) {
		found := hostKeyIn(log)
		if found == "" {
			return
		}
		read, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(found))
		if err != nil || len(options) > 0 || len(rest) > 0 || strings.ContainsAny(strings.TrimSuffix(found, "\n"), "\r\n") {
			t.Errorf("%q: %v, %q, %q", found, err, options, rest)
		}
		if again := hostKeyIn(keysBegin + "\n" + found + "\n" + keysEnd); err == nil && !strings.Contains(again, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(read)))) {
			t.Errorf("the key %q is read from a log as %q", found, again)
		}
	})
}
