package sshexec_test

import (
	"bufio"
	"errors"
	"io"
	"os/exec"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
)

// TestKillScript ends a real process with its children, as root's commands are
// ended on a host.
func TestKillScript(t *testing.T) {
	victim := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 60 & echo begun; wait")
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := victim.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := victim.Start(); err != nil {
		t.Skip("no /bin/sh on this machine")
	}
	r := bufio.NewReader(out)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", sshexec.KillScript, "sh", "TERM", strconv.Itoa(victim.Process.Pid)).CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("%v: %s", err, said)
	}
	ended := make(chan struct{})
	go func() {
		// The end of the output tells that the child has ended, too.
		_, _ = io.Copy(io.Discard, r)
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("the child still runs")
	}
	var exit *exec.ExitError
	if err := victim.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("got %v", err)
	}
}
