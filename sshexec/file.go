package sshexec

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
)

// File names a file on the host and its properties.
type File struct {
	Path string // absolute
	// Mode are the permission bits that Upload sets. Default 0644.
	Mode fs.FileMode
	// Owner is the owner that Upload sets, "user" or "user:group". Default: the user who writes the file. Only root can set
	// another owner.
	Owner string
	// Root reads and writes as root.
	Root bool
	// Parents makes Upload create missing parent directories with mode 0755. Default: a missing directory is an error that wraps
	// fs.ErrNotExist.
	Parents bool
	// SHA256 is the expected digest of the content in hex. Upload and Download refuse other content. Default: no check.
	SHA256 string
	// Progress is called a few times a second during the transfer, and at its end. It must not block. Default: no calls.
	Progress func(Progress)
}

// Progress is the progress of a transfer.
type Progress struct {
	Host string // Target.Name
	Path string // File.Path or Tree.Path
	Done int64  // bytes that have arrived, including those of an earlier, resumed attempt
	// Total is the number of bytes to transfer, -1 if it is unknown because the content of an Upload is not an io.Seeker.
	Total int64
}

var ownerName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*)?$`)

func (f File) validate() error {
	switch {
	case !path.IsAbs(f.Path) || strings.HasSuffix(f.Path, "/"):
		return fmt.Errorf("file %q: the path of a file must be absolute", f.Path)
	case strings.ContainsRune(f.Path, 0):
		return errors.New("the path of a file contains a NUL byte")
	case f.Mode&^fs.ModePerm != 0:
		return fmt.Errorf("file %s: mode %v is more than permission bits", f.Path, f.Mode)
	case f.Owner != "" && !ownerName.MatchString(f.Owner):
		return fmt.Errorf("file %s: owner %q is not user or user:group", f.Path, f.Owner)
	}
	if digest, err := hex.DecodeString(f.SHA256); f.SHA256 != "" && (err != nil || len(digest) != 32) {
		return fmt.Errorf("file %s: %q is no SHA-256 digest in hex", f.Path, f.SHA256)
	}
	return nil
}

// octal returns the permission bits as an operand of chmod.
func (f File) octal() string {
	if f.Mode == 0 {
		return "644"
	}
	return fmt.Sprintf("%o", f.Mode.Perm())
}

// folder returns the directory of the file.
func (f File) folder() string { return path.Dir(f.Path) }

// parents returns the argument for scripts that is not empty if they have to create the directory of the file.
func (f File) parents() string {
	if f.Parents {
		return "parents"
	}
	return ""
}

const readScript = `LC_ALL=C; export LC_ALL; [ -e "$1" ] || exit 44; exec cat "$1"`

// ReadFile returns the content of a small file. It uses f.Path and f.Root. For a file of more than 1 MiB the error wraps
// [ErrTooLarge]; use [Host.Download]. The error wraps fs.ErrNotExist if the file does not exist for the user, and fs.ErrPermission
// if the user may not read it.
func (h *Host) ReadFile(ctx context.Context, f File) ([]byte, error) {
	if err := f.validate(); err != nil {
		return nil, h.fail(err)
	}
	content, err := h.Output(ctx, Command{Argv: []string{"/bin/sh", "-c", readScript, "sh", f.Path}, Root: f.Root, does: doing("read", f.Path)})
	if err != nil {
		return nil, h.fileFault("read", f.Path, err)
	}
	return content, nil
}
