package ansible

import "github.com/vnfkit/vnfkit/sshexec"

// Server is a machine with Ansible, reached over SSH, or this machine (sshexec.Pool.Local). All commands run as the login
// user of Host.
type Server struct {
	Host *sshexec.Host
}
