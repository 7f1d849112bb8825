package sshexec

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
)

// UploadTree copies the directories and files of from into the directory t.Path of the host, which is created if it
// does not exist. Files get the permission bits that they have in from, or 0644 if they have none. So do new
// directories, and their owner may always write to them; existing directories are not changed. Only files that differ,
// in content, mode or owner, are sent. Other files in the directory stay.
//
// UploadTree stages the files in a directory of mode 0700 within t.Path, compares their digests there, and then renames
// them one by one: each file is replaced atomically, the tree is not. A transfer whose connection breaks is resumed on
// a new connection, file by file. A symbolic link in from is sent as the file that it points to. UploadTree sends
// nothing, and returns an error that names the entries, if a link points to no file, if an entry is neither a file nor
// a directory, or if an entry on the host is in the way.
//
// A user who may write to a directory of the tree can replace entries in it meanwhile: with Root, write only below
// directories of root.
func (h *Host) UploadTree(ctx context.Context, from fs.FS, t Tree) error {
	if err := t.validate(); err != nil {
		return h.fail(err)
	}
	release, err := h.pool.transfer(ctx)
	if err != nil {
		return h.fail(err)
	}
	defer release()
	u := &treeUpload{host: h, from: from, tree: t, staging: path.Join(t.Path, stagingPrefix+rand.Text())}
	if err := u.scan(ctx); err != nil {
		return h.during("upload tree", t.Path, err)
	}
	u.meter = h.meter(t.Path, 0, t.Progress)
	defer u.meter.mute()
	err = resuming(ctx, func() error { return u.attempt(ctx) }, u.mark, func() bool { return u.begun })
	if u.begun {
		err = errors.Join(err, u.discard(ctx))
	}
	if err != nil {
		return err
	}
	u.meter.end()
	return nil
}

// mark returns the progress of the upload.
func (u *treeUpload) mark() int64 {
	steps := int64(0)
	for _, f := range u.send {
		if f.sent {
			steps++
		}
		if f.placed {
			steps++
		}
	}
	return steps
}

// stagingPrefix is how the names of the directories begin in which files are
// gathered.
const stagingPrefix = ".sshexec-tree-"

// treeUpload is an upload of a tree under way.
type treeUpload struct {
	host    *Host
	from    fs.FS
	tree    Tree
	staging string
	dirs    []*treeDir // parents first, without the tree itself
	files   []*treeFile
	send    []*treeFile // those that differ
	meter   *meter
	made    bool // the directory of the tree itself, by us
	begun   bool // the host has been seen, and there may be a staging directory
}

type treeDir struct {
	name  string // below the tree
	perm  fs.FileMode
	there bool // found on the host
	made  bool // by us
}

type treeFile struct {
	name   string // below the tree
	size   int64
	perm   fs.FileMode
	digest string // of the bytes sent, in hex
	staged string // name within the staging directory
	sent   bool
	placed bool
}

// scan lists the entries to send.
func (u *treeUpload) scan(ctx context.Context) error {
	var wrong faults
	err := fs.WalkDir(u.from, ".", func(name string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err == nil {
			err = u.take(name, d)
		}
		if err != nil {
			wrong.add(err)
		}
		return nil
	})
	return errors.Join(err, wrong.join())
}

func (u *treeUpload) take(name string, d fs.DirEntry) error {
	var info fs.FileInfo
	var err error
	if d.Type()&fs.ModeSymlink != 0 {
		if info, err = fs.Stat(u.from, name); err == nil && !info.Mode().IsRegular() {
			err = ErrIrregular
		}
	} else {
		info, err = d.Info()
	}
	switch {
	case err != nil:
	case strings.ContainsRune(name, 0):
		err = errors.New("the name contains a NUL byte")
	case info.IsDir():
		if name != "." {
			u.dirs = append(u.dirs, &treeDir{name: name, perm: info.Mode().Perm() | 0o700})
		}
	case info.Mode().IsRegular():
		u.files = append(u.files, &treeFile{name: name, size: info.Size(), perm: cmp.Or(info.Mode().Perm(), 0o644)})
	default:
		err = ErrIrregular
	}
	if err != nil {
		return fmt.Errorf("%q: %w", name, err)
	}
	return nil
}

// target returns the path of an entry on the host.
func (u *treeUpload) target(name string) string { return path.Join(u.tree.Path, name) }

func (u *treeUpload) attempt(ctx context.Context) error {
	if err := u.look(ctx); err != nil {
		return err
	}
	err := u.host.withSFTP(ctx, u.tree.Root, func(s *sftpSession) error { return u.gather(ctx, s) })
	if errors.Is(err, errNoSFTP) {
		return u.oneByOne(ctx)
	}
	if err == nil {
		err = u.compare(ctx)
	}
	if err == nil {
		err = u.host.withSFTP(ctx, u.tree.Root, func(s *sftpSession) error { return u.moveIntoPlace(ctx, s) })
	}
	return u.host.during("upload tree", u.tree.Path, err)
}

// verifyScript sets the owner $2, if it is not empty, of the files in the staging directory $1 and of the directories
// that it reads, and digests the files.
const verifyScript = `LC_ALL=C; export LC_ALL; ` + digestMany + `cd "$1" || exit 1; ` +
	`if [ -n "$2" ]; then xargs -0 -r chown -h "$2" || exit 1; find . -type f -print0 | xargs -0 -r chown -h "$2" || exit 1; fi; ` +
	`find . -type f -print0 | b`

// compare compares the digests on the host with those of the sent files.
func (u *treeUpload) compare(ctx context.Context) error {
	var made []string
	if u.made {
		made = append(made, u.tree.Path)
	}
	for _, d := range u.dirs {
		if d.made {
			made = append(made, u.target(d.name))
		}
	}
	there := map[string]string{}
	err := u.host.Exec(ctx, Command{
		Argv:  []string{"/bin/sh", "-c", verifyScript, "sh", u.staging, u.tree.Owner},
		Stdin: zeroes(made), Root: u.tree.Root, Grace: time.Second, does: doing("digest files below", u.staging),
		Stdout: &lineWriter{line: func(line string) error {
			if digest, name, ok := digestLine(line); ok {
				there[strings.TrimPrefix(name, "./")] = digest
			}
			return nil
		}},
	})
	if err != nil {
		return u.host.fileFault("upload", u.tree.Path, err)
	}
	var wrong faults
	for _, f := range u.send {
		if !f.placed && there[f.staged] != f.digest {
			wrong.add(u.host.fail(fmt.Errorf("%q: %w: the host has %q, not %s", f.name, ErrDigest, there[f.staged], f.digest)))
		}
	}
	return wrong.join()
}

// moveIntoPlace renames the staged files to their final names.
func (u *treeUpload) moveIntoPlace(ctx context.Context, s *sftpSession) error {
	var wrong faults
	err := each(ctx, len(u.send), inFlight, func(i int) error {
		f := u.send[i]
		if f.placed {
			return nil
		}
		err := s.PosixRename(path.Join(u.staging, f.staged), u.target(f.name))
		if err == nil {
			f.placed = true
			return nil
		}
		if refusal(err) {
			wrong.add(fmt.Errorf("%q: %w", f.name, err))
			return nil
		}
		return err
	})
	return errors.Join(err, wrong.join())
}

// discard removes the staging directory with the files that were not moved.
func (u *treeUpload) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*discardLimit)
	defer cancel()
	return u.host.Exec(ctx, Command{Argv: []string{"rm", "-rf", u.staging}, Root: u.tree.Root, Grace: time.Second})
}
