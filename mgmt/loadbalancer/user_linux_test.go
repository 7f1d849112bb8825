package loadbalancer_test

import (
	"os"
	"syscall"
)

// ordinary is a user other than root: the Unix user nobody, if this is root.
func ordinary() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return attr
}
