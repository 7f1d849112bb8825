//go:build !unix

package sshexec

import (
	"os"
	"syscall"

	"golang.org/x/crypto/ssh"
)

// Local needs /bin/sh. On other systems no command starts, so no command has to be ended.

func ownGroup() *syscall.SysProcAttr { return nil }

func signalGroup(int, ssh.Signal) {}

func localStatus(state *os.ProcessState) (code int, signal string) { return state.ExitCode(), "" }
