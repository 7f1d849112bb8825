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

// UploadTree puts the directories and files of from into the directory t.Path of
// the host, which is made when there is none. Files get the permission bits that
// they have in from, 0644 when they have none. So do the directories it makes,
// whose owner may always write to them; directories that are there already are
// left as they are. Only files that differ, in content, mode or owner, are sent.
// What else is in the directory stays.
//
// Files are gathered in a directory of mode 0700 within t.Path, compared there by
// their digests, and then put in their places one by one: none is ever seen half
// written, but the tree may be. A transfer that was cut is gone on with on a new
// connection, from file to file. A symbolic link in from is sent as the file it
// leads to. One that leads to no file, whatever else is not a file or directory,
// and what on the host is in the way, is an error that names it, and then
// nothing is sent.
//
// Whoever may write to a directory of the tree can put something else in its
// place meanwhile: as root, write only below directories of root.
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

// mark tells how far the upload is.
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
	digest string // of what was sent, in hex
	staged string // name within the staging directory
	sent   bool
	placed bool
}

// scan finds out what is to be sent.
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

// target returns where something goes.
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
		err = u.host.withSFTP(ctx, u.tree.Root, func(s *sftpSession) error { return u.place(s) })
	}
	return u.host.during("upload tree", u.tree.Path, err)
}

// verifyScript gives the files in the staging directory $1 and the directories
// that it reads to the owner $2, if there is one, and digests the files.
const verifyScript = `LC_ALL=C; export LC_ALL; ` + digestMany + `cd "$1" || exit 1; ` +
	`if [ -n "$2" ]; then xargs -0 -r chown -h "$2" || exit 1; find . -type f -print0 | xargs -0 -r chown -h "$2" || exit 1; fi; ` +
	`find . -type f -print0 | b`

// compare has the host digest what it was sent.
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

// place puts the files in their places.
func (u *treeUpload) place(s *sftpSession) error {
	var wrong faults
	err := each(len(u.send), inFlight, func(i int) error {
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

// discard removes the staging directory, and with it all that was not put in its
// place.
func (u *treeUpload) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 4*discardLimit)
	defer cancel()
	return u.host.Exec(ctx, Command{Argv: []string{"rm", "-rf", u.staging}, Root: u.tree.Root, Grace: time.Second})
}
