package sshexec

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"path"
	"strings"
	"time"
)

// Upload writes content to the host so that the file is never seen half
// written: into a temporary file beside it, of mode 0600, which replaces the
// file once its digest on the host, its mode and its owner are right. The
// temporary file is removed when anything fails. Content is streamed.
//
// When content is an io.ReadSeeker, it is read twice, and nothing is written
// when the host has the file already. The error wraps [ErrDigest] when what
// arrived is not what was sent or not File.SHA256.
func (h *Host) Upload(ctx context.Context, content io.Reader, f File) error {
	if err := f.validate(); err != nil {
		return h.fail(err)
	}
	if seeker, ok := content.(io.ReadSeeker); ok {
		done, err := h.alreadyThere(ctx, seeker, f)
		if done || err != nil {
			return err
		}
	}
	temporary := temporaryName(f.Path)
	digest := sha256.New()
	err := h.transfer(ctx, io.TeeReader(content, digest), temporary, f.Root)
	if err == nil {
		err = h.finish(ctx, temporary, f, sum(digest))
	}
	if err != nil {
		return errors.Join(err, h.discard(ctx, temporary, f.Root))
	}
	return nil
}

func sum(digest hash.Hash) string { return hex.EncodeToString(digest.Sum(nil)) }

func temporaryName(target string) string {
	dir, name := path.Split(target)
	return dir + "." + name[:min(len(name), 100)] + ".sshexec-" + rand.Text()
}

// statScript tells digest, mode and owner of a regular file, nothing otherwise.
const statScript = `[ -f "$1" ] && [ ! -L "$1" ] || exit 0; sha256sum <"$1" && stat -c "%a %U:%G" "$1"`

// alreadyThere reports whether the host has exactly this file.
func (h *Host) alreadyThere(ctx context.Context, content io.ReadSeeker, f File) (bool, error) {
	want, err := digestAhead(content)
	if err != nil {
		return false, h.fail(fmt.Errorf("file %s: read content: %w", f.Path, err))
	}
	if f.SHA256 != "" && !strings.EqualFold(f.SHA256, want) {
		return false, h.fail(fmt.Errorf("file %s: %w: content has %s, not %s", f.Path, ErrDigest, want, f.SHA256))
	}
	out, err := h.Output(ctx, Command{Argv: []string{"/bin/sh", "-c", statScript, "sh", f.Path}, Root: f.Root})
	var exit *ExitError
	if errors.As(err, &exit) {
		return false, nil // cannot be looked at: writing will tell why
	}
	if err != nil {
		return false, err
	}
	fields := strings.Fields(string(out)) // digest, "-", mode, user:group
	if len(fields) != 4 {
		return false, nil
	}
	user, _, _ := strings.Cut(fields[3], ":")
	owned := f.Owner == "" || f.Owner == fields[3] || f.Owner == user
	return fields[0] == want && fields[2] == f.octal() && owned, nil
}

// digestAhead reads content to its end and returns to where it was.
func digestAhead(content io.ReadSeeker) (string, error) {
	start, err := content.Seek(0, io.SeekCurrent)
	if err != nil {
		return "", err
	}
	digest := sha256.New()
	if _, err := io.Copy(digest, content); err != nil {
		return "", err
	}
	_, err = content.Seek(start, io.SeekStart)
	return sum(digest), err
}

// transfer writes content to the temporary file. SFTP logs in as the user and
// cannot become root: then the content goes through a command.
func (h *Host) transfer(ctx context.Context, content io.Reader, temporary string, root bool) error {
	if !root || h.target.User == "root" {
		return h.sftpWrite(ctx, content, temporary)
	}
	write := []string{"/bin/sh", "-c", `umask 077; cat >"$1"`, "sh", temporary}
	return h.Exec(ctx, Command{Argv: write, Stdin: content, Root: true})
}

// exitDigest is how finishScript says that the digest is another one.
const exitDigest = 65

// finishScript: $1 temporary file, $2 target, $3 digest, $4 mode, $5 owner. The
// owner comes before the mode: chown takes away permission bits.
const finishScript = `got=$(sha256sum <"$1") || exit 1; ` +
	`if [ "${got%% *}" != "$3" ]; then echo "digest on the host is ${got%% *}" >&2; exit 65; fi; ` +
	`if [ -d "$2" ]; then echo "$2 is a directory" >&2; exit 1; fi; ` +
	`if [ -n "$5" ]; then chown "$5" "$1" || exit 1; fi; ` +
	`chmod "$4" "$1" && mv -f "$1" "$2"`

func (h *Host) finish(ctx context.Context, temporary string, f File, digest string) error {
	if f.SHA256 != "" && !strings.EqualFold(f.SHA256, digest) {
		return h.fail(fmt.Errorf("file %s: %w: content has %s, not %s", f.Path, ErrDigest, digest, f.SHA256))
	}
	argv := []string{"/bin/sh", "-c", finishScript, "sh", temporary, f.Path, digest, f.octal(), f.Owner}
	err := h.Exec(ctx, Command{Argv: argv, Root: f.Root})
	var exit *ExitError
	if errors.As(err, &exit) && exit.Code == exitDigest {
		return h.fail(fmt.Errorf("file %s: %w: %w", f.Path, ErrDigest, err))
	}
	return err
}

// discardLimit bounds the removal of a temporary file, which is done even when
// the context of the upload has ended.
const discardLimit = 10 * time.Second

func (h *Host) discard(ctx context.Context, temporary string, root bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardLimit)
	defer cancel()
	return h.Exec(ctx, Command{Argv: []string{"rm", "-f", temporary}, Root: root})
}
