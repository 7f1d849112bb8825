package sshexec

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pkg/sftp"
)

// Upload writes content to a file of the host. It replaces the file atomically: it writes a temporary file with mode 0600 in the same
// directory, checks the digest on the host, sets mode and owner, and renames the file. The content is streamed. Received data survives
// the end of this program and of the connection, but not necessarily a power failure of the host at the same moment.
//
// If content is an io.Seeker, Upload sends nothing if the host already has the same file. It also resumes a transfer whose connection
// breaks: in this call on a new connection, as long as the transfer makes progress, or in a later call that finds the temporary file.
// For other content the error of a lost connection wraps [ErrDisconnected].
//
// The temporary file is removed after a failure. If the host cannot be reached any more, the next upload to the same
// path removes or reuses it. The error wraps [ErrDigest] if the received content differs from the sent content or from
// File.SHA256, and fs.ErrNotExist, fs.ErrPermission, syscall.ENOSPC, syscall.EDQUOT or syscall.EROFS if the host
// reports that.
func (h *Host) Upload(ctx context.Context, content io.Reader, f File) error {
	if err := f.validate(); err != nil {
		return h.fail(err)
	}
	release, err := h.pool.transfer(ctx)
	if err != nil {
		return h.fail(err)
	}
	defer release()
	return h.upload(ctx, content, f)
}

// smallFile is the size up to which a file is sent in one step, together with the command that stores it.
const smallFile = 64 << 10

// upload is Upload for a caller that has a slot among the transfers.
func (h *Host) upload(ctx context.Context, from io.Reader, f File) error {
	u := &upload{host: h, file: f}
	var err error
	if u.content, err = newContent(from); err != nil {
		return u.unread(err)
	}
	all, err := u.content.peek(ctx, smallFile)
	if err != nil {
		return u.unread(err)
	}
	u.meter = h.meter(f.Path, u.content.size, f.Progress)
	defer u.meter.mute()
	attempt := u.large
	if all {
		attempt = u.small
	}
	u.temporary = temporaryName(f.Path)
	err = resuming(ctx, func() error { return attempt(ctx) }, u.mark, u.may)
	if err != nil {
		return errors.Join(err, u.discard(ctx))
	}
	u.meter.end()
	return nil
}

// upload is the state of a running upload.
type upload struct {
	host      *Host
	file      File
	content   *content
	temporary string
	meter     *meter
	reached   bool  // the host has answered
	sent      bool  // the host may have a temporary file
	best      int64 // the largest number of bytes that any attempt sent
}

// mark returns the progress of the upload.
func (u *upload) mark() int64 {
	u.best = max(u.best, u.meter.done())
	return u.best
}

// may reports whether another attempt makes sense.
func (u *upload) may() bool { return u.reached && u.content.untouched() }

func (u *upload) unread(err error) error {
	return u.host.fail(fmt.Errorf("file %s: read content: %w", u.file.Path, err))
}

func sum(digest hash.Hash) string { return hex.EncodeToString(digest.Sum(nil)) }

// announced checks a digest against File.SHA256.
func (u *upload) announced(digest string) error {
	if u.file.SHA256 == "" || strings.EqualFold(u.file.SHA256, digest) {
		return nil
	}
	return u.host.fail(fmt.Errorf("file %s: %w: content has %s, not %s", u.file.Path, ErrDigest, digest, u.file.SHA256))
}

// placeScript checks the digest $3 of the temporary file $t, unless $3 is empty, sets owner $5 and mode $4, and renames the file to $1.
// It sets the owner before the mode, because chown removes permission bits. It opens the file once, so that another user who may write
// to the directory cannot substitute a file between chown and chmod.
const placeScript = `fail() { rm -f "$t"; exit "$1"; }; ` +
	`if [ -d "$1" ]; then echo "$1 is a directory" >&2; fail 1; fi; ` +
	`{ if [ -n "$3" ]; then got=$(d) || fail 1; if [ "${got%% *}" != "$3" ]; then echo "the host has ${got%% *}" >&2; fail 65; fi; fi; ` +
	`p=/proc/self/fd/0; [ -e "$p" ] || p=$t; ` +
	`if [ -n "$5" ]; then chown "$5" "$p" || fail 1; fi; chmod "$4" "$p" || fail 1; } <"$t" || fail 1; ` +
	`mv -f "$t" "$1" || fail 1`

// putScript stores a small file from standard input, unless the host already has it: $1 target, $2 temporary file, $3 digest, $4 mode,
// $5 owner, $6 directory, $7 prefix of temporary files, $8 not empty to create the directory. If the connection breaks, the digest is
// wrong and the script removes the temporary file.
const putScript = `umask 077; LC_ALL=C; export LC_ALL; ` + digestQuickly + sweep +
	`if [ ! -d "$6" ]; then [ -n "$8" ] || exit 44; (umask 022; mkdir -p -- "$6") || exit 1; fi; ` +
	`for p in "$7"*; do if [ -f "$p" ]; then sweep "$2" "$7" "$6" ""; break; fi; done; ` +
	`owned() { [ -z "$1" ] || [ "$2" = "$1" ] || [ "${2%%:*}" = "$1" ]; }; ` +
	`if [ -f "$1" ] && [ ! -L "$1" ] && [ -r "$1" ] && s=$(stat -c "%a %U:%G" "$1") && [ "${s%% *}" = "$4" ] && owned "$5" "${s#* }" && ` +
	`got=$(d <"$1") && [ "${got%% *}" = "$3" ]; then exit 0; fi; ` +
	`t=$2; cat >"$t" || { rm -f "$t"; exit 1; }; ` + placeScript

// makeFolder creates the directory of the file if Parents is set.
func (u *upload) makeFolder(ctx context.Context) error {
	f := u.file
	if !f.Parents {
		return nil
	}
	err := u.host.Exec(ctx, Command{Argv: []string{"/bin/sh", "-c", `LC_ALL=C; export LC_ALL; umask 022; exec mkdir -p -- "$1"`, "sh", f.folder()}, Root: f.Root, does: doing("make directory", f.folder())})
	if err != nil {
		return u.host.fileFault("upload", f.Path, err)
	}
	return nil
}

// small sends a file in one step.
func (u *upload) small(ctx context.Context) error {
	f := u.file
	digest := sha256.Sum256(u.content.head)
	want := hex.EncodeToString(digest[:])
	if err := u.announced(want); err != nil {
		return err
	}
	begun := false
	err := u.host.Exec(ctx, Command{
		Argv:  []string{"/bin/sh", "-c", putScript, "sh", f.Path, u.temporary, want, f.octal(), f.Owner, f.folder(), temporaryPrefix(f.Path), f.parents()},
		Stdin: bytes.NewReader(u.content.head), Root: f.Root, does: doing("upload", f.Path), begun: &begun,
	})
	u.reached = u.reached || begun
	var exit *ExitError
	cleaned := errors.As(err, &exit) && exit.Signal == "" // the script has removed the temporary file
	u.sent = u.reached && !cleaned
	if err != nil {
		return u.host.fileFault("upload", f.Path, err)
	}
	u.meter.set(int64(len(u.content.head)))
	return nil
}

// large sends a large file, or the rest of it after an earlier attempt.
func (u *upload) large(ctx context.Context) error {
	if err := u.makeFolder(ctx); err != nil {
		return err
	}
	seen, err := u.look(ctx)
	if err != nil {
		return err
	}
	u.reached = true
	u.sent = seen.partial > 0
	same, err := u.same(ctx, seen)
	if err != nil {
		return err
	}
	if same {
		return u.discard(ctx)
	}
	u.sent = true
	offset := int64(0)
	if u.content.rereadable() && seen.partial > 0 {
		if offset, err = u.usable(ctx, seen.partial); err != nil {
			return err
		}
	}
	if offset == 0 && seen.partial > 0 {
		if err := u.discard(ctx); err != nil {
			return err
		}
	}
	return u.carry(ctx, offset)
}

// same reports whether the host has exactly this file. It reads the content only if the size is equal and File.SHA256 is not set.
func (u *upload) same(ctx context.Context, seen sight) (bool, error) {
	f := u.file
	if seen.size < 0 || seen.size != u.content.size || seen.mode != f.octal() || !seen.owned(f.Owner) {
		return false, nil
	}
	want := strings.ToLower(f.SHA256)
	if want == "" {
		from, err := u.content.from(0)
		if err != nil {
			return false, u.unread(err)
		}
		digest := sha256.New()
		if _, err := io.Copy(digest, &while{ctx, from}); err != nil {
			return false, u.unread(err)
		}
		want = sum(digest)
	}
	got, err := u.host.digestOf(ctx, f, seen.size)
	var exit *ExitError
	if errors.As(err, &exit) {
		return false, nil // the file cannot be inspected; writing will report the reason
	}
	if err != nil || got != want {
		return false, err
	}
	u.meter.set(seen.size)
	return true, nil
}

// while reads from r until ctx ends.
type while struct {
	ctx context.Context
	r   io.Reader
}

func (w *while) Read(p []byte) (int, error) {
	if w.ctx.Err() != nil {
		return 0, context.Cause(w.ctx)
	}
	return w.r.Read(p)
}

// carry sends the content from offset on, compares it, and renames the file to its path. While it sends chunks, the host digests
// earlier chunks.
func (u *upload) carry(ctx context.Context, offset int64) error {
	var whole hash.Hash
	if u.file.SHA256 != "" {
		whole = sha256.New()
	}
	from, err := u.content.from(0)
	if err == nil && whole != nil && offset > 0 {
		_, err = io.CopyN(whole, &while{ctx, from}, offset)
	}
	if err == nil && offset > 0 {
		from, err = u.content.from(offset)
	}
	if err != nil {
		return u.unread(err)
	}
	u.meter.set(offset)
	check := u.checking(ctx)
	defer check.stop()
	out := newOutgoing(from, offset, whole, u.meter, check.add)
	err = u.transfer(ctx, out, check)
	if !out.idle(ctx) && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	if whole != nil {
		if err := u.announced(sum(whole)); err != nil {
			return err
		}
	}
	digest, err := check.end(out.offset)
	if err != nil {
		return err
	}
	return u.finish(ctx, digest, out.offset)
}

// transfer sends the content by SFTP or, on a host without SFTP, through a command.
func (u *upload) transfer(ctx context.Context, out *outgoing, check *check) error {
	err := u.host.withSFTP(ctx, u.file.Root, func(s *sftpSession) error {
		check.begin()
		return out.send(ctx, s, u.temporary)
	})
	if errors.Is(err, errNoSFTP) {
		return u.byCommand(ctx, out)
	}
	var status *sftp.StatusError
	if errors.As(err, &status) {
		err = u.diagnose(ctx, err)
	}
	return u.host.during("upload", u.file.Path, err)
}

// diagnoseScript determines the reason why a file cannot be written, which SFTP does not report: $1 is a temporary file that will be
// removed. The last line of cat's output is the reason; dd would print counts after it.
const diagnoseScript = `LC_ALL=C; export LC_ALL; umask 077; dd if=/dev/zero bs=65536 count=64 2>/dev/null | cat >>"$1"`

func (u *upload) diagnose(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, discardLimit)
	defer cancel()
	why := u.host.Exec(ctx, Command{
		Argv: []string{"/bin/sh", "-c", diagnoseScript, "sh", u.temporary},
		Root: u.file.Root, Grace: time.Second, does: doing("try to write to", u.temporary),
	})
	var told *scriptError
	if !errors.As(u.host.fileFault("upload", u.file.Path, why), &told) || told.fault == nil {
		return err
	}
	return fmt.Errorf("%w: %w", err, told.fault)
}

// writeScript writes to the temporary file $1 from unit $2 on.
const writeScript = `LC_ALL=C; export LC_ALL; umask 077; if [ "$2" = 0 ]; then exec cat >"$1"; fi; exec dd of="$1" bs=1048576 seek="$2" 2>/dev/null`

// byCommand sends the content through the standard input of a command.
func (u *upload) byCommand(ctx context.Context, out *outgoing) error {
	argv := []string{"/bin/sh", "-c", writeScript, "sh", u.temporary, strconv.FormatInt(out.offset/unit, 10)}
	err := u.host.Exec(ctx, Command{Argv: argv, Stdin: (*inOrder)(out), Root: u.file.Root, does: doing("write", u.temporary)})
	return u.host.fileFault("upload", u.file.Path, err)
}

// inOrder is content for a command, which reads it sequentially.
type inOrder outgoing

func (i *inOrder) Read(p []byte) (int, error) {
	o := (*outgoing)(i)
	o.reading <- struct{}{}
	defer func() { <-o.reading }()
	got, err := o.next(p)
	if err != nil {
		return 0, err
	}
	o.answered(got.part, len(got.data))
	o.meter.add(int64(len(got.data)))
	return len(got.data), nil
}

// finishScript completes an upload: $1 target, $2 temporary file, $3 digest, empty if it has been compared already, $4 mode, $5 owner,
// $6 size.
const finishScript = `LC_ALL=C; export LC_ALL; ` + digestFast + `t=$2; if [ ! -f "$t" ]; then exit 66; fi; ` +
	`s=$(stat -c %s "$t"); if [ "$s" != "$6" ]; then echo "the host has $s bytes, not $6" >&2; rm -f "$t"; exit 65; fi; ` + placeScript

func (u *upload) finish(ctx context.Context, digest string, size int64) error {
	f := u.file
	argv := []string{"/bin/sh", "-c", finishScript, "sh", f.Path, u.temporary, digest, f.octal(), f.Owner, strconv.FormatInt(size, 10)}
	return u.host.fileFault("upload", f.Path, u.host.Exec(ctx, Command{Argv: argv, Root: f.Root, does: doing("put in its place", f.Path)}))
}

// discardLimit limits the time for removing a temporary file, which happens even if the context of the upload has ended.
const discardLimit = 5 * time.Second

// discard removes the temporary file. On a host that cannot be reached, the file stays until the next upload to the same path.
func (u *upload) discard(ctx context.Context) error {
	if !u.sent {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
	defer cancel()
	return u.host.Exec(ctx, Command{Argv: []string{"rm", "-f", u.temporary}, Root: u.file.Root, Grace: time.Second})
}
