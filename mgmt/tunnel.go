package mgmt

import (
	"context"
	"net"
)

// ReadRoot returns the content of a small file of the node, as root.
func (n Node) ReadRoot(ctx context.Context, path string) ([]byte, error) {
	return n.Root().ReadFile(ctx, path)
}

// DialContext connects to an address as the node sees it, through its SSH connection: see sshexec.Host.
func (n Node) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.SSH.DialContext(ctx, network, addr)
}
