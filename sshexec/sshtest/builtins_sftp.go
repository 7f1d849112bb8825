package sshtest

import (
	"context"
	"io"
)

// sftpServerPath is where Debian has the program that speaks SFTP.
const sftpServerPath = "/usr/lib/openssh/sftp-server"

// sftpServer speaks SFTP on its input and output, as the user it runs as: so
// sudo makes one of root.
func sftpServer(ctx context.Context, p *Process) int {
	if len(p.Args) > 1 {
		return p.usage("options are not supported by this simulated program")
	}
	// It ends with its input.
	if in, ok := plain(p.Stdin).(io.Closer); ok {
		defer context.AfterFunc(ctx, func() { _ = in.Close() })()
	}
	p.host.serveSFTP(&stdio{Reader: p.Stdin, Writer: p.Stdout}, p.User)
	if ctx.Err() != nil {
		return exitKilled
	}
	return 0
}

type stdio struct {
	io.Reader
	io.Writer
}

func (*stdio) Close() error { return nil }
