//go:build !unix

package sshexec

import (
	"os"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// Local needs /bin/sh: elsewhere no command starts, and there is nothing to end.

func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, ssh.Signal) {}

func localStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }
