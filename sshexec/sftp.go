package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/pkg/sftp"
)

// sftpWrite makes a file of mode 0600 and streams content into it.
func (h *Host) sftpWrite(ctx context.Context, content io.Reader, name string) error {
	session, err := h.machine.session(ctx, false)
	if err != nil {
		return h.fail(err)
	}
	defer session.close()
	from := &source{r: content}
	result := make(chan error, 1)
	if !h.pool.spawn(func() { result <- sftpCopy(session, from, name) }) {
		return h.fail(ErrClosed)
	}
	select {
	case err = <-result:
	case <-ctx.Done():
		session.close()
		settle(result)
		err = context.Cause(ctx)
	}
	if err == nil {
		return nil
	}
	var status *sftp.StatusError
	lost := ctx.Err() == nil && from.err == nil && !errors.As(err, &status) && !errors.Is(err, os.ErrPermission) && !errors.Is(err, os.ErrNotExist)
	if lost {
		err = fmt.Errorf("%w: %w", ErrDisconnected, err)
	}
	return h.fail(fmt.Errorf("write %s: %w", name, err))
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

func sftpCopy(session session, content io.Reader, name string) (err error) {
	input, output, err := session.subsystem("sftp")
	if err != nil {
		return fmt.Errorf("SFTP: %w", err)
	}
	client, err := sftp.NewClientPipe(output, input, sftp.UseConcurrentWrites(true))
	if err != nil {
		return fmt.Errorf("SFTP: %w", err)
	}
	defer func() {
		session.close() // the client waits for the end of its input
		_ = client.Close()
	}()
	file, err := client.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	// SFTP creates files with the umask of the login: closed before there is
	// anything in it.
	if err := file.Chmod(0o600); err != nil {
		return errors.Join(err, file.Close())
	}
	if _, err := file.ReadFrom(content); err != nil {
		return errors.Join(err, file.Close())
	}
	return file.Close()
}
