package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pkg/sftp"
)

// way says how the SFTP server of a host is reached.
type way int

const (
	wayUnknown   way = iota
	waySubsystem     // as sshd offers it, for the login user
	wayCommand       // the program, as a command: also under sudo
	wayNone          // there is none
)

// wayKey: root is reached in another way than the login user.
type wayKey struct {
	key
	root bool
}

// errNoSFTP: the host has no SFTP server that can be reached.
var errNoSFTP = errors.New("the host has no SFTP")

// sftpSession is an SFTP client of one session.
type sftpSession struct {
	*sftp.Client
	stream *stream
	packet int // bytes of content in one request
}

// stream is how one talks to an SFTP server.
type stream struct {
	io.Reader
	io.WriteCloser
	end func() // gives the session back, waiting for nobody
}

// Packets of SFTP. Every server takes the smaller one. OpenSSH takes the larger
// one, and says so by an extension.
const (
	smallPacket = 32 << 10
	largePacket = 255 << 10
)

// withSFTP calls fn with an SFTP client, as root when that is asked for. fn runs
// in a goroutine, and is left alone when ctx ends: it must not touch anything
// of its caller that is not guarded. The error wraps errNoSFTP when there is
// none, and [ErrDisconnected] when the connection broke.
func (h *Host) withSFTP(ctx context.Context, root bool, fn func(*sftpSession) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	result := make(chan error, 1)
	spawned := h.pool.spawn(func() {
		s, err := h.openSFTP(ctx, root)
		if err != nil {
			result <- err
			return
		}
		stop := context.AfterFunc(ctx, s.stream.end)
		err = fn(s)
		if err != nil && !refusal(err) && !s.alive() {
			err = fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		stop()
		s.close(sync.OnceFunc(func() { result <- err }))
	})
	if !spawned {
		return h.fail(ErrClosed)
	}
	select {
	case err := <-result:
		if err != nil && ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		if err != nil {
			return h.fail(err)
		}
		return nil
	case <-ctx.Done():
		cause := context.Cause(ctx)
		settle(result)
		return h.fail(cause)
	}
}

// alive reports whether the server still answers. It is asked after a failure
// that may have been one of the caller's own.
func (s *sftpSession) alive() bool {
	_, err := s.Getwd()
	return err == nil || refusal(err)
}

// close ends the session, then calls done. The server that does not end when it
// sees the end of its input is not waited for.
func (s *sftpSession) close(done func()) {
	late := time.AfterFunc(feedGrace, func() {
		s.stream.end()
		done()
	})
	_ = s.Client.Close()
	late.Stop()
	s.stream.end()
	done()
}

// settle waits a moment for a transfer that was broken off, so that the caller
// can use the reader again.
func settle(result <-chan error) {
	timer := time.NewTimer(feedGrace)
	defer timer.Stop()
	select {
	case <-result:
	case <-timer.C:
	}
}

// openSFTP finds out once what works on the host.
func (h *Host) openSFTP(ctx context.Context, root bool) (*sftpSession, error) {
	sudo := root && h.target.User != "root"
	key := wayKey{h.target.key(), sudo}
	if found, ok := h.pool.transfers.ways.Load(key); ok {
		switch found.(way) {
		case wayNone:
			return nil, errNoSFTP
		case wayCommand:
			if s, err := h.startSFTP(ctx, wayCommand, sudo); err == nil || cut(err) {
				return s, err
			}
		}
	}
	for _, w := range []way{waySubsystem, wayCommand} {
		if w == waySubsystem && sudo {
			continue // it logs in as the user
		}
		s, err := h.startSFTP(ctx, w, sudo)
		switch {
		case err == nil:
			h.pool.transfers.ways.Store(key, w)
			return s, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case w == wayCommand && !errors.Is(err, errNoSFTP), errors.Is(err, ErrConnect):
			return nil, err
		}
	}
	h.pool.transfers.ways.Store(key, wayNone)
	return nil, errNoSFTP
}

func (h *Host) startSFTP(ctx context.Context, w way, sudo bool) (*sftpSession, error) {
	var through *stream
	var failure func() error // why the stream ended
	var err error
	if w == waySubsystem {
		through, err = h.subsystem(ctx)
	} else {
		through, failure = h.sftpServer(ctx, sudo)
	}
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, through.end)
	defer stop()
	client, err := sftp.NewClientPipe(through, through, sftp.MaxPacketUnchecked(largePacket))
	if err != nil {
		err = fmt.Errorf("SFTP: %w", err)
		if failure != nil {
			err = failure()
		}
		through.end()
		return nil, err
	}
	s := &sftpSession{Client: client, stream: through, packet: smallPacket}
	if _, ok := client.HasExtension("limits@openssh.com"); ok {
		s.packet = largePacket
	}
	return s, nil
}

// subsystem asks for the SFTP server of sshd.
func (h *Host) subsystem(ctx context.Context) (*stream, error) {
	session, release, err := h.session(ctx)
	if err != nil {
		return nil, err
	}
	release = sync.OnceFunc(release)
	stop := context.AfterFunc(ctx, release) // the request knows no context
	defer stop()
	s := &stream{end: release}
	if s.WriteCloser, err = session.StdinPipe(); err == nil {
		s.Reader, err = session.StdoutPipe()
	}
	if err == nil {
		err = session.RequestSubsystem("sftp")
	}
	if err != nil {
		release()
		return nil, fmt.Errorf("SFTP: %w", err)
	}
	return s, nil
}

// sftpScript becomes the SFTP server, which distributions keep in different
// places.
const sftpScript = `for p in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server /usr/libexec/sftp-server; do ` +
	`if [ -x "$p" ]; then exec "$p"; fi; done; echo "no sftp-server" >&2; exit 44`

// sftpServer starts the SFTP server as a command. failure tells why it ended,
// when it did not say what an SFTP server says.
func (h *Host) sftpServer(ctx context.Context, root bool) (s *stream, failure func() error) {
	ctx, cancel := context.WithCancel(ctx)
	stdin, input := io.Pipe()
	output, stdout := io.Pipe()
	ended := make(chan error, 1)
	run := func() {
		err := h.Exec(ctx, Command{
			Argv:  []string{"/bin/sh", "-c", sftpScript, "sh"},
			Stdin: stdin, Stdout: stdout, Root: root, Grace: time.Second,
		})
		_ = stdin.Close()
		_ = stdout.Close()
		ended <- err
	}
	if !h.pool.spawn(run) {
		_ = stdout.CloseWithError(ErrClosed)
		ended <- ErrClosed
	}
	disconnect := func() {
		_ = input.Close()
		_ = output.Close()
	}
	failure = func() error {
		disconnect()
		err := <-ended
		var exit *ExitError
		if err == nil || errors.As(err, &exit) || errors.Is(err, io.ErrClosedPipe) {
			return errNoSFTP
		}
		return err
	}
	end := func() {
		disconnect()
		cancel()
	}
	return &stream{Reader: output, WriteCloser: input, end: sync.OnceFunc(end)}, failure
}
