package jointoken_test

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/jointoken"
	"github.com/vnfkit/vnfkit/sshexec"
)

// TestMasked: the last line of what kubeadm has said, which an error shows, says why it failed, and has no credentials.
func TestMasked(t *testing.T) {
	t.Parallel()
	for stderr, want := range map[string]string{
		"failed with abcdef.0123456789abcdef\nTo see the stack trace of this error execute with --v=5 or higher\n": "failed with ***",
		// kubeadm 1.35
		"[preflight] Some fatal errors occurred:\n\t[ERROR Port-2379]: Port 2379 is in use\n\t[ERROR Swap]: running with swap on is not supported\n" +
			"[preflight] If you know what you are doing, you can make a check non-fatal with `--ignore-preflight-errors=...`\n" +
			"error: error execution phase preflight: preflight checks failed\nTo see the stack trace of this error execute with --v=5 or higher\n": "preflight checks failed: " +
			"[ERROR Port-2379]: Port 2379 is in use; [ERROR Swap]: running with swap on is not supported",
	} {
		err := jointoken.Masked(&sshexec.ExitError{Host: "master", Command: "kubeadm join", Code: 1, Stderr: stderr})
		if want = "master: kubeadm join: exit code 1: " + want; err.Error() != want {
			t.Errorf("got  %s\nwant %s", err, want)
		}
	}
	if other := errors.New("abcdef.0123456789abcdef"); !errors.Is(jointoken.Masked(other), other) {
		t.Error("an error of another kind is changed")
	}
}
