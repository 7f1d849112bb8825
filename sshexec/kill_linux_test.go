package sshexec_test

import (
	"bufio"
	"errors"
	"io"
	"os"
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
		t.Fatal(err)
	}
	r := bufio.NewReader(out)
	if _, err := r.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid := strconv.Itoa(victim.Process.Pid) // its group has the same number
	said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", sshexec.KillScript, "sh", "TERM", pid, "").CombinedOutput()
	if err != nil || string(said) != pid+"\n" {
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

// TestKillScriptOfAGroup ends what is left of a process that has ended itself.
func TestKillScriptOfAGroup(t *testing.T) {
	victim := exec.CommandContext(t.Context(), "/bin/sh", "-c", "sleep 60 & exit 0")
	victim.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	victim.Stdout = in
	err = errors.Join(victim.Run(), in.Close())
	if err != nil {
		t.Fatal(err)
	}
	group := strconv.Itoa(victim.Process.Pid)
	said, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", sshexec.KillScript, "sh", "KILL", group, group).CombinedOutput()
	if err != nil || string(said) != group+"\n" {
		t.Errorf("%v: %s", err, said)
	}
	// The end of the output is the end of the child.
	if err := out.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, out); err != nil {
		t.Errorf("the child still runs: %v", err)
	}
}
