package sshexec_test

import (
	"strings"
	"testing"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// FuzzListedHostKeys checks that AcceptListedHostKeys accepts only lines with one key each, and refuses other lines with an error of
// limited length. An accepted line has no options, because options in authorized_keys are about users.
func FuzzListedHostKeys(f *testing.F) {
	key := sshtest.NewKey(f, "ssh-ed25519")
	line := strings.TrimSpace(key.Public)
	f.Add(line, line)
	f.Add("", line)
	f.Add("# "+line, line+" a comment")
	f.Add(`command="touch /pwned" `+line, line)
	f.Add(line+"\n"+line, line)
	f.Add(line, "@cert-authority * "+line)
	f.Add("ssh-ed25519 AAAA", strings.Repeat("A", 1<<16))
	f.Fuzz(func(t *testing.T, first, second string) {
		_, err := sshexec.AcceptListedHostKeys(new(sshtest.HostKeyStore), first, second)
		_, pinned := sshexec.PinnedHostKeys(first, second)
		if (err == nil) != (pinned == nil) {
			t.Errorf("listed: %v, pinned: %v", err, pinned)
		}
		if err != nil && len(err.Error()) > 1<<10 {
			t.Errorf("the error has %d bytes", len(err.Error()))
		}
		for _, line := range []string{first, second} {
			if err != nil {
				continue
			}
			_, _, options, rest, refused := ssh.ParseAuthorizedKey([]byte(line))
			if refused != nil || len(options) > 0 || strings.TrimSpace(string(rest)) != "" {
				t.Errorf("%q is accepted: %v, options %q, rest %q", line, refused, options, rest)
			}
		}
	})
}
