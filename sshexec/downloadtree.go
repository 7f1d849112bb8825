package sshexec

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"sync/atomic"
)

// DownloadTree fetches the directories and files below t.Path into the local directory to, which is created if it does
// not exist. Files get the permission bits that they have on the host, directories 0755 as the umask allows. Existing
// files with the same content are not fetched; other files in the directory stay. Each file is compared by its digest
// before it gets its name. A transfer whose connection breaks is resumed on a new connection, file by file.
//
// t.Limits bounds the data from the host. Beyond a limit the error is a *[LimitError]; files fetched before stay.
//
// DownloadTree never writes outside of to, for any names sent by the host and any links in to. If the tree on the host
// contains entries that are neither files nor directories, they are left out. After all other entries are fetched,
// DownloadTree returns an error that names them and wraps [ErrIrregular].
func (h *Host) DownloadTree(ctx context.Context, to string, t Tree) error {
	if err := t.validate(); err != nil {
		return h.fail(err)
	}
	t.Limits = t.Limits.withDefaults()
	release, err := h.pool.transfer(ctx)
	if err != nil {
		return h.fail(err)
	}
	defer release()
	if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // as mkdir does; the umask says more
		return h.fail(err)
	}
	root, err := os.OpenRoot(to)
	if err != nil {
		return h.fail(err)
	}
	defer func() { _ = root.Close() }()
	d := &treeDownload{host: h, tree: t, to: root, meter: h.meter(t.Path, -1, t.Progress)}
	defer d.meter.mute()
	err = resuming(ctx, func() error { return d.attempt(ctx) }, d.mark, func() bool { return d.listed })
	if err == nil {
		err = d.irregular.join()
	}
	if err != nil {
		return h.during("download tree", t.Path, err)
	}
	d.meter.end()
	return nil
}

// mark returns the progress of the download.
func (d *treeDownload) mark() int64 {
	steps := int64(0)
	for _, f := range d.files {
		if f.done {
			steps++
		}
	}
	return steps
}

// treeDownload is a download of a tree under way.
type treeDownload struct {
	host      *Host
	tree      Tree
	to        *os.Root
	listed    bool
	dirs      []string
	files     []*remoteFile
	irregular faults
	meter     *meter
	received  atomic.Int64 // bytes of files
}

// remoteFile is a file of the host.
type remoteFile struct {
	name   string // below the tree
	digest string // on the host, empty when it is not known yet
	done   bool
}

func (d *treeDownload) attempt(ctx context.Context) error {
	if !d.listed {
		if err := d.list(ctx); err != nil {
			return err
		}
		for _, dir := range d.dirs {
			if err := d.to.MkdirAll(dir, 0o755); err != nil {
				return err
			}
		}
		d.listed = true
	}
	var wrong faults
	err := d.host.withSFTP(ctx, d.tree.Root, func(s *sftpSession) error { return d.fetchAll(ctx, s, &wrong) })
	bySFTP := !errors.Is(err, errNoSFTP)
	if err == nil || !bySFTP {
		err = each(ctx, len(d.files), sessionWorkers, func(i int) error {
			if f := d.files[i]; f.digest == "" || !bySFTP {
				return d.fetchFile(ctx, f, &wrong, d.fetchOne)
			}
			return nil
		})
	}
	return errors.Join(err, wrong.join())
}

// fetchAll fetches, by SFTP, the files whose digests are known.
func (d *treeDownload) fetchAll(ctx context.Context, s *sftpSession, wrong *faults) error {
	var one sync.Mutex // of large files only one at a time: each has many requests on their way
	return each(ctx, len(d.files), treeWorkers, func(i int) error {
		if d.files[i].digest == "" {
			return nil
		}
		return d.fetchFile(ctx, d.files[i], wrong, func(ctx context.Context, f *remoteFile) error { return d.fetch(ctx, s, f, &one) })
	})
}

// fetchFile fetches a file unless it was fetched already. It collects a fault of a single file in wrong, which does not
// end the transfer.
func (d *treeDownload) fetchFile(ctx context.Context, f *remoteFile, wrong *faults, fetch func(context.Context, *remoteFile) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if f.done || d.here(ctx, f) {
		f.done = true
		return nil
	}
	err := fetch(ctx, f)
	var local *os.PathError
	if err != nil && ctx.Err() == nil && (refusal(err) || errors.Is(err, ErrDigest) || errors.As(err, &local)) {
		wrong.add(fmt.Errorf("%q: %w", f.name, err))
		return nil
	}
	f.done = err == nil
	return err
}

// here reports whether the file is here already.
func (d *treeDownload) here(ctx context.Context, f *remoteFile) bool {
	if f.digest == "" {
		return false
	}
	info, err := d.to.Lstat(f.name)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	file, err := d.to.Open(f.name)
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	digest := sha256.New()
	_, err = io.Copy(digest, &while{ctx, file})
	return err == nil && sum(digest) == f.digest
}

// fetch fetches a file by SFTP.
func (d *treeDownload) fetch(ctx context.Context, s *sftpSession, f *remoteFile, one *sync.Mutex) error {
	remote := path.Join(d.tree.Path, f.name)
	info, err := s.Stat(remote)
	if err != nil {
		return err
	}
	return d.local(f, func(file *os.File, digest hash.Hash) (fs.FileMode, error) {
		if info.Size() > treeSmall {
			one.Lock()
			defer one.Unlock()
		}
		to := d.counted(io.MultiWriter(digest, file))
		return info.Mode().Perm(), receive(ctx, s, remote, 0, info.Size(), func(p []byte) error {
			_, err := to.Write(p)
			d.meter.add(int64(len(p)))
			return err
		})
	})
}

// fetchOne fetches a file by itself.
func (d *treeDownload) fetchOne(ctx context.Context, f *remoteFile) error {
	return d.local(f, func(file *os.File, digest hash.Hash) (fs.FileMode, error) {
		to := d.counted(io.MultiWriter(file, digest))
		seen, err := d.host.download(ctx, to, File{Path: path.Join(d.tree.Path, f.name), Root: d.tree.Root})
		if err != nil {
			return 0, err
		}
		d.meter.add(seen.size)
		return seen.mode, nil
	})
}

// local writes a file of this machine, which gets its name once it is whole.
func (d *treeDownload) local(f *remoteFile, write func(*os.File, hash.Hash) (fs.FileMode, error)) error {
	dir, name := path.Split(f.name)
	temporary := dir + "." + name[:min(len(name), 100)] + ".sshexec-" + rand.Text()
	file, err := d.to.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	digest := sha256.New()
	perm, err := write(file, digest)
	if err == nil && f.digest != "" && sum(digest) != f.digest {
		err = fmt.Errorf("%w: received %s, not %s", ErrDigest, sum(digest), f.digest)
	}
	if err == nil {
		err = file.Chmod(perm)
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = d.to.Rename(temporary, f.name)
	}
	if err != nil {
		err = errors.Join(err, d.to.Remove(temporary))
	}
	return err
}

// counted returns a writer to w that fails beyond the bytes that a tree may have.
func (d *treeDownload) counted(w io.Writer) io.Writer {
	return writerFunc(func(p []byte) (int, error) {
		if d.received.Add(int64(len(p))) > d.tree.Limits.Bytes {
			return 0, &LimitError{What: "bytes in the files of the tree", Limit: d.tree.Limits.Bytes}
		}
		return w.Write(p)
	})
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }
