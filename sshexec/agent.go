package sshexec

import (
	"context"
	"fmt"
	"net"
	"os"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// Agent logs in with the keys and certificates of the SSH agent that listens on a Unix socket, by default the one that
// the environment variable SSH_AUTH_SOCK names at the time of the login. If the agent does not run or has no key, it
// offers no key; that is not an error if another credential is accepted. The agent is not forwarded to the host.
func Agent(socket string) Auth {
	keys := func(ctx context.Context) ([]ssh.Signer, func(), error) {
		at := socket
		if at == "" {
			at = os.Getenv("SSH_AUTH_SOCK")
		}
		if at == "" {
			return nil, nothing, nil
		}
		return agentKeys(ctx, at)
	}
	return newAuth(authMethod{keys: keys}, "agent", []byte(socket))
}

func agentKeys(ctx context.Context, socket string) ([]ssh.Signer, func(), error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, nothing, nil //nolint:nilerr // no agent, no keys
	}
	// The connection stays open until the login, because the agent signs during the login. The end of ctx closes the
	// connection to an agent that does not answer.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	done := func() {
		stop()
		_ = conn.Close()
	}
	signers, err := agent.NewClient(conn).Signers()
	if err != nil {
		done()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, nothing, fmt.Errorf("SSH agent %s: %w", socket, err)
	}
	return signers, done, nil
}
