package mgmttest

import (
	"context"
	"errors"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
)

// Run runs a command on a machine as its usual login user, over a separate connection, and returns its output.
func Run(ctx context.Context, h *sshtest.Host, c sshexec.Command) (string, error) {
	pool := sshexec.NewPool(sshexec.Options{})
	host := pool.Host(sshexec.Target{ID: h.Name(), Name: h.Name(), Addr: h.Addr(), User: "ubuntu", Auth: []sshexec.Auth{sshexec.Password("ubuntu")},
		Sudo: sshexec.SudoPassword("ubuntu"), HostKeys: sshexec.InsecureIgnoreHostKeys()})
	out, err := host.Output(ctx, c)
	return string(out), errors.Join(err, pool.Close())
}
