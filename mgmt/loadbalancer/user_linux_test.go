package loadbalancer_test

import (
	"os"
	"syscall"
)

// ordinary is another user than root: nobody, if this is root.
func ordinary() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Getuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: 65534, Gid: 65534}
	}
	return attr
}
