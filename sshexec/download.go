package sshexec

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Download writes the content of a file of the host to to. It uses Path, Root, SHA256 and Progress of f. The content is streamed.
// Download resumes a transfer whose connection breaks on a new connection, as long as the transfer makes progress and the file has
// the same size and modification time. If a file grows meanwhile, Download reads up to its initial end.
//
// The error wraps [ErrDigest] if the received content differs from the file on the host or from File.SHA256: then the
// content written to to is invalid. It wraps fs.ErrNotExist or fs.ErrPermission if the host reports that, and
// [ErrIrregular] if the path is not a regular file. When ctx ends during a Write, Download waits for that Write.
func (h *Host) Download(ctx context.Context, to io.Writer, f File) error {
	if err := f.validate(); err != nil {
		return h.fail(err)
	}
	release, err := h.pool.transfer(ctx)
	if err != nil {
		return h.fail(err)
	}
	defer release()
	_, err = h.download(ctx, to, f)
	return err
}

// ErrIrregular reports that a path of the host is neither a file nor a directory but, for example, a symbolic link, a socket or a
// device. Final.
var ErrIrregular = errors.New("not a regular file")

// download is Download for a caller that has a slot among the transfers.
func (h *Host) download(ctx context.Context, to io.Writer, f File) (found, error) {
	d := &download{host: h, file: f, to: to, digest: sha256.New(), meter: h.meter(f.Path, -1, f.Progress)}
	defer d.meter.mute()
	err := resuming(ctx, func() error { return d.attempt(ctx) }, d.meter.done, func() bool { return d.seen != nil })
	if err != nil {
		return found{}, err
	}
	d.meter.end()
	return *d.seen, nil
}

// download is the state of a running download.
type download struct {
	host   *Host
	file   File
	to     io.Writer
	digest hash.Hash // of the bytes written
	offset int64     // of the next byte
	meter  *meter
	seen   *found // nil before the host has answered
	theirs string // digest on the host, "" until it is known
}

// found is the host's description of a file.
type found struct {
	size, changed int64 // bytes, seconds
	mode          fs.FileMode
}

// getScript prints size, modification time and mode of the file $1. For a file of at most $2 bytes it also prints the
// digest and the content.
const getScript = `LC_ALL=C; export LC_ALL; ` + digestQuickly + `if [ ! -e "$1" ]; then ls -d "$1" >/dev/null || exit 44; exit 67; fi; if [ ! -f "$1" ]; then exit 67; fi; ` +
	`{ s=$(wc -c <"$1") && c=$(stat -L -c "%Y %a" "$1"); } || exit 1; echo "$((s + 0)) $c"; ` +
	`if [ "$((s + 0))" -le "$2" ]; then g=$(d <"$1") || exit 1; echo "$g"; exec cat "$1"; fi`

func (d *download) attempt(ctx context.Context) error {
	f := d.file
	out, err := d.host.Output(ctx, Command{
		Argv: []string{"/bin/sh", "-c", getScript, "sh", f.Path, strconv.Itoa(smallFile)}, Root: f.Root,
		does: doing("download", f.Path),
	})
	if err != nil {
		return d.host.fileFault("download", f.Path, err)
	}
	line, rest, _ := bytes.Cut(out, []byte("\n"))
	var now found
	if _, err := fmt.Sscanf(string(line), "%d %d %o", &now.size, &now.changed, &now.mode); err != nil || now.size < 0 {
		return d.host.fail(fmt.Errorf("download %s: the host says %q", f.Path, line))
	}
	now.mode = now.mode.Perm()
	if d.seen != nil && *d.seen != now {
		return d.host.fail(fmt.Errorf("download %s: %w: the file was changed meanwhile", f.Path, ErrDigest))
	}
	if d.seen == nil {
		d.meter.total(now.size)
	}
	d.seen = &now
	if now.size > smallFile {
		return d.large(ctx)
	}
	line, content, _ := bytes.Cut(rest, []byte("\n"))
	d.theirs = firstWord(string(line))
	if err := d.write(content); err != nil {
		return d.host.during("download", f.Path, err)
	}
	return d.compare()
}

// large receives a file by SFTP or, on a host without SFTP, through a command. Meanwhile the host computes the digest.
func (d *download) large(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	size := d.seen.size
	type answer struct {
		digest string
		err    error
	}
	digested := make(chan answer, 1)
	// The session for the digest is opened after that of the transfer. Otherwise it could take the last session that
	// the host allows.
	digest := sync.OnceFunc(func() {
		theirs, err := d.host.digestOf(ctx, d.file, size)
		digested <- answer{theirs, err}
	})
	err := d.host.withSFTP(ctx, d.file.Root, func(s *sftpSession) error {
		if d.theirs == "" {
			d.host.pool.spawn(digest)
		}
		return receive(ctx, s, d.file.Path, d.offset, size, d.write)
	})
	if errors.Is(err, errNoSFTP) {
		err = d.byCommand(ctx)
	}
	if err != nil {
		return d.host.during("download", d.file.Path, err) // cancels the digest and does not wait for it
	}
	if d.theirs == "" {
		d.host.pool.spawn(digest) // does nothing if it was started above
		select {
		case a := <-digested:
			d.theirs, err = a.digest, a.err
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err != nil {
		return d.host.during("download", d.file.Path, err)
	}
	return d.compare()
}

// skipScript prints the content of the file $1 from unit $2 on.
const skipScript = `LC_ALL=C; export LC_ALL; if [ "$2" = 0 ]; then exec cat "$1"; fi; exec dd if="$1" bs=1048576 skip="$2" 2>/dev/null`

// byCommand receives the file through the standard output of a command.
func (d *download) byCommand(ctx context.Context) error {
	at := d.offset / unit
	rest := &window{skip: d.offset - at*unit, left: d.seen.size - d.offset, write: d.write}
	argv := []string{"/bin/sh", "-c", skipScript, "sh", d.file.Path, strconv.FormatInt(at, 10)}
	err := d.host.Exec(ctx, Command{Argv: argv, Stdout: rest, Root: d.file.Root, Grace: time.Second})
	if err == nil && rest.left > 0 {
		return d.host.fail(fmt.Errorf("download %s: %w", d.file.Path, errShort))
	}
	return d.host.fileFault("download", d.file.Path, err)
}

// window passes a part of a stream to write.
type window struct {
	skip, left int64
	write      func([]byte) error
}

func (w *window) Write(p []byte) (int, error) {
	n := len(p)
	skipped := min(w.skip, int64(len(p)))
	w.skip -= skipped
	p = p[skipped:]
	p = p[:min(int64(len(p)), w.left)]
	w.left -= int64(len(p))
	return n, w.write(p)
}

// write writes the next bytes of the content.
func (d *download) write(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	if _, err := d.to.Write(p); err != nil {
		return fmt.Errorf("write content: %w", err)
	}
	_, _ = d.digest.Write(p)
	d.offset += int64(len(p))
	d.meter.add(int64(len(p)))
	return nil
}

// compare compares the digests.
func (d *download) compare() error {
	got := sum(d.digest)
	for _, want := range []string{d.theirs, cmp.Or(d.file.SHA256, got)} {
		if !strings.EqualFold(want, got) {
			return d.host.fail(fmt.Errorf("download %s: %w: received %s, not %q", d.file.Path, ErrDigest, got, want))
		}
	}
	return nil
}
