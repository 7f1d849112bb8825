package sshtest

import (
	"context"
	"io"
)

// sftpServerPath is the path of OpenSSH's SFTP server on Debian.
const sftpServerPath = "/usr/lib/openssh/sftp-server"

// sftpServer serves SFTP on its standard input and output with the permissions of its user: under sudo, those of root.
func sftpServer(ctx context.Context, p *Process) int {
	if len(p.Args) > 1 {
		return p.usage("options are not supported by this simulated program")
	}
	// Serving ends when the input ends, so a killed program has its input closed.
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
