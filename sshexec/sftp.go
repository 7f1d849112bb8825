package sshexec

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/pkg/sftp"
)

// sftpMethod is the way to reach the SFTP server of a host.
type sftpMethod int

const (
	methodUnknown   sftpMethod = iota
	methodSubsystem            // the subsystem of sshd, for the login user
	methodCommand              // the program sftp-server as a command, also with sudo
	methodNone                 // the host has no SFTP
)

// sftpMethodKey is the key of a cached sftpMethod. Root may need another method than the login user.
type sftpMethodKey struct {
	key
	root bool
}

// errNoSFTP: the host has no SFTP server that the user can reach.
var errNoSFTP = errors.New("the host has no SFTP")

// sftpSession is an SFTP client of one session.
type sftpSession struct {
	*sftp.Client
	stream *stream
	packet int // bytes of content in one request
}

// stream connects an SFTP client to a server. Ending the stream unblocks readers and writers, whatever the host does, and releases the
// session without waiting.
type stream struct {
	*io.PipeReader // data from the server
	*io.PipeWriter // data to the server; closing it ends the server's input
	end            func()
}

// Read, Write and Close are used by the SFTP client.
func (s *stream) Read(p []byte) (int, error)  { return s.PipeReader.Read(p) }
func (s *stream) Write(p []byte) (int, error) { return s.PipeWriter.Write(p) }

// Close ends the input of the server.
func (s *stream) Close() error { return s.PipeWriter.Close() }

// Bytes of content in a packet of SFTP. Every server accepts smallPacket. OpenSSH accepts largePacket and announces this by an
// extension.
const (
	smallPacket = 32 << 10
	largePacket = 255 << 10
)

// pumped is the buffer size between a session and its stream.
const pumped = 256 << 10

// withSFTP calls fn with an SFTP client, as root if root is set. The end of ctx ends all requests of fn. The error
// wraps errNoSFTP if the host has no SFTP, and [ErrDisconnected] if the connection broke.
func (h *Host) withSFTP(ctx context.Context, root bool, fn func(*sftpSession) error) error {
	s, err := h.openSFTP(ctx, root)
	if err == nil {
		stop := context.AfterFunc(ctx, s.stream.end)
		err = fn(s)
		if err != nil && !refusal(err) && !s.alive() {
			err = fmt.Errorf("%w: %w", ErrDisconnected, err)
		}
		s.close()
		stop()
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// alive reports whether the server still answers, after a failure that the caller may have caused.
func (s *sftpSession) alive() bool {
	_, err := s.Getwd()
	return err == nil || refusal(err)
}

// close ends the session. It waits only feedGrace for a server that does not end at the end of its input.
func (s *sftpSession) close() {
	late := time.AfterFunc(feedGrace, s.stream.end)
	defer late.Stop()
	_ = s.Close()
	s.stream.end()
}

// openSFTP opens an SFTP client. It stores the method that works for later calls.
func (h *Host) openSFTP(ctx context.Context, root bool) (*sftpSession, error) {
	sudo := root && h.target.User != "root"
	key := sftpMethodKey{h.target.key(), sudo}
	if found, ok := h.pool.transfers.sftpMethods.Load(key); ok {
		switch found.(sftpMethod) {
		case methodNone:
			return nil, errNoSFTP
		case methodCommand:
			if s, err := h.startSFTP(ctx, methodCommand, sudo); err == nil || cut(err) {
				return s, err
			}
		}
	}
	for _, w := range []sftpMethod{methodSubsystem, methodCommand} {
		if w == methodSubsystem && sudo {
			continue // the subsystem runs as the login user
		}
		s, err := h.startSFTP(ctx, w, sudo)
		switch {
		case err == nil:
			h.pool.transfers.sftpMethods.Store(key, w)
			return s, nil
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case w == methodCommand && !errors.Is(err, errNoSFTP), errors.Is(err, ErrConnect):
			return nil, err
		}
	}
	h.pool.transfers.sftpMethods.Store(key, methodNone)
	return nil, errNoSFTP
}

func (h *Host) startSFTP(ctx context.Context, w sftpMethod, sudo bool) (*sftpSession, error) {
	var through *stream
	var failure func() error // why the stream ended
	var err error
	if w == methodSubsystem {
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

// subsystem opens the SFTP server of sshd. It is the only code for file transfer that uses an SSH session directly.
func (h *Host) subsystem(ctx context.Context) (*stream, error) {
	session, err := h.machine.session(ctx, false)
	if err != nil {
		return nil, err
	}
	told, input := io.Pipe()
	output, says := io.Pipe()
	s := &stream{PipeReader: output, PipeWriter: input}
	s.end = sync.OnceFunc(func() {
		_, _ = input.Close(), output.Close()
		if !h.pool.spawn(session.close) { // close writes to the host, which may block
			session.close()
		}
	})
	result := make(chan error, 1)
	// Neither the request nor the streams of the session accept a context.
	ask := func() {
		to, from, err := session.subsystem("sftp")
		if result <- err; err != nil {
			return
		}
		h.pool.spawn(func() {
			_, err := io.CopyBuffer(to, told, make([]byte, pumped))
			_, _ = to.Close(), told.CloseWithError(cmp.Or(err, io.ErrClosedPipe))
		})
		_, err = io.CopyBuffer(says, from, make([]byte, pumped))
		_ = says.CloseWithError(err)
	}
	if !h.pool.spawn(ask) {
		result <- ErrClosed
	}
	select {
	case err = <-result:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		s.end()
		return nil, fmt.Errorf("SFTP: %w", err)
	}
	return s, nil
}

// sftpScript runs the SFTP server, whose path depends on the distribution.
const sftpScript = `for p in /usr/lib/openssh/sftp-server /usr/libexec/openssh/sftp-server /usr/lib/ssh/sftp-server /usr/libexec/sftp-server; do ` +
	`if [ -x "$p" ]; then exec "$p"; fi; done; echo "no sftp-server" >&2; exit 44`

// sftpServer starts the SFTP server as a command. If the command does not answer as an SFTP server, failure returns the reason.
func (h *Host) sftpServer(ctx context.Context, root bool) (s *stream, failure func() error) {
	ctx, cancel := context.WithCancel(ctx)
	stdin, input := io.Pipe()
	output, stdout := io.Pipe()
	ended := make(chan error, 1)
	run := func() {
		err := h.Exec(ctx, Command{
			Argv:  []string{"/bin/sh", "-c", sftpScript, "sh"},
			Stdin: stdin, Stdout: stdout, Root: root, Grace: time.Second, does: "run sftp-server",
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
	return &stream{PipeReader: output, PipeWriter: input, end: sync.OnceFunc(end)}, failure
}
