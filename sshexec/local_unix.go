//go:build unix

package sshexec

import (
	"os"
	"strings"
	"syscall"

	"golang.org/x/crypto/ssh"
	"golang.org/x/sys/unix"
)

// ownGroup makes a command the leader of a process group, as sshd does.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func signalGroup(pid int, signal ssh.Signal) {
	_ = syscall.Kill(-pid, unix.SignalNum("SIG"+string(signal)))
}

// localStatus returns the exit code or the signal, in the form of SSH.
func localStatus(state *os.ProcessState) (code int, signal string) {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return state.ExitCode(), ""
	}
	number := status.Signal()
	return 128 + int(number), strings.TrimPrefix(unix.SignalName(number), "SIG")
}
