package ansible

import "github.com/vnfkit/vnfkit/sshexec"

// Server is a machine that has Ansible: reached over SSH, or this one (sshexec.Pool.Local). Everything is done as its
// login user.
type Server struct {
	Host *sshexec.Host
}
