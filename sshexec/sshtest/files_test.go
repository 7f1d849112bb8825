package sshtest_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

func TestHostSurvivesARestart(t *testing.T) {
	dir := t.TempDir()
	first := sshtest.Start(t, sshtest.Config{Dir: dir})
	run(t, first, "sudo sh -c 'echo kept > /etc/kept'", "")
	second := sshtest.Start(t, sshtest.Config{Dir: dir, HostKey: first.HostKeyPEM()})
	if out, _ := run(t, second, "cat /etc/kept", ""); out != "kept\n" || first.PublicKey() != second.PublicKey() {
		t.Errorf("got %q", out)
	}
}
