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
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// DownloadTree fetches the directories and files below t.Path into the local
// directory to, which is made when there is none. Files get the permission bits
// they have on the host, directories 0755 as the umask allows. Files that are
// there with the same content are not fetched; what else is in the directory
// stays. Each file is compared by its digest before it gets its name. A transfer
// that was cut is gone on with on a new connection, from file to file.
//
// Nothing is written outside of to, whatever names the host tells and whatever
// links there are in to. What is neither a file nor a directory on the host is
// left out, and the error names it and wraps [ErrIrregular], once all else has
// been fetched.
func (h *Host) DownloadTree(ctx context.Context, to string, t Tree) error {
	if err := t.validate(); err != nil {
		return h.fail(err)
	}
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

// mark tells how far the download is.
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
		err = each(len(d.files), sessionWorkers, func(i int) error {
			if f := d.files[i]; f.digest == "" || !bySFTP {
				return d.settled(ctx, f, &wrong, d.fetchOne)
			}
			return nil
		})
	}
	return errors.Join(err, wrong.join())
}

// listScript tells the names of all directories, of all files, and of everything
// below $1. Each name is ended by NUL, each list by another one.
const listScript = `LC_ALL=C; export LC_ALL; [ -e "$1" ] || exit 44; cd "$1" || exit 1; ` +
	`find . -type d -print0 && printf "\000" && find . -type f -print0 && printf "\000" && find . -print0 && printf "\000"`

// list asks the host for names and digests.
func (d *treeDownload) list(ctx context.Context) error {
	var lists nameLists
	err := d.host.Exec(ctx, Command{
		Argv: []string{"/bin/sh", "-c", listScript, "sh", d.tree.Path}, Root: d.tree.Root, Stdout: &lists, Grace: time.Second,
	})
	if err != nil {
		return d.host.fileFault("download", d.tree.Path, err)
	}
	if lists.at != len(lists.names) {
		return errors.New("the host did not tell all names")
	}
	regular := map[string]bool{}
	d.dirs, d.files, d.irregular = nil, nil, faults{}
	for i, list := range lists.names {
		for _, name := range list {
			switch {
			case !inside(name):
				return fmt.Errorf("the host tells of %q, which is not below the directory", name)
			case i == 0:
				d.dirs = append(d.dirs, name)
			case i == 1:
				d.files = append(d.files, &remoteFile{name: name})
			case !regular[name]:
				d.irregular.add(fmt.Errorf("%q: %w", name, ErrIrregular))
			}
			regular[name] = true
		}
	}
	return d.digests(ctx)
}

// inside reports whether a name stays below the directory, on this machine too.
// os.Root sees to the links.
func inside(name string) bool {
	return path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name))
}

// nameLists takes apart what listScript tells.
type nameLists struct {
	names [3][]string
	at    int
	rest  []byte
	total int
}

// namesBytes bounds how much a host may tell.
const namesBytes = 256 << 20

func (l *nameLists) Write(p []byte) (int, error) {
	if l.total += len(p); l.total > namesBytes {
		return 0, fmt.Errorf("names of files %w: more than %d bytes", ErrTooLarge, namesBytes)
	}
	for _, c := range p {
		switch {
		case c != 0:
			l.rest = append(l.rest, c)
		case l.at == len(l.names):
			return 0, errors.New("the host tells more than it was asked")
		case len(l.rest) == 0:
			l.at++
		default:
			name := strings.TrimPrefix(string(l.rest), "./")
			l.names[l.at] = append(l.names[l.at], name)
			l.rest = l.rest[:0]
		}
	}
	return len(p), nil
}

const treeDigestScript = `LC_ALL=C; export LC_ALL; ` + digestMany + `cd "$1" || exit 1; b 2>/dev/null; exit 0`

// digests asks for the digests of all files whose names can be read back.
func (d *treeDownload) digests(ctx context.Context) error {
	var names []string
	files := map[string]*remoteFile{}
	for _, f := range d.files {
		if plain(f.name) {
			files["./"+f.name] = f
			names = append(names, "./"+f.name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return d.host.Exec(ctx, Command{
		Argv:  []string{"/bin/sh", "-c", treeDigestScript, "sh", d.tree.Path},
		Stdin: zeroes(names), Root: d.tree.Root, Grace: time.Second,
		Stdout: &lineWriter{line: func(line string) error {
			if digest, name, ok := digestLine(line); ok && files[name] != nil {
				files[name].digest = digest
			}
			return nil
		}},
	})
}

// fetchAll fetches the files whose digests are known by SFTP.
func (d *treeDownload) fetchAll(ctx context.Context, s *sftpSession, wrong *faults) error {
	var one sync.Mutex // of large files only one at a time: each has many requests on their way
	return each(len(d.files), treeWorkers, func(i int) error {
		if d.files[i].digest == "" {
			return nil
		}
		return d.settled(ctx, d.files[i], wrong, func(ctx context.Context, f *remoteFile) error { return d.fetch(ctx, s, f, &one) })
	})
}

// settled fetches a file unless that is done. A fault of the file alone is noted
// and does not end the transfer.
func (d *treeDownload) settled(ctx context.Context, f *remoteFile, wrong *faults, fetch func(context.Context, *remoteFile) error) error {
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
		return info.Mode().Perm(), receive(ctx, s, remote, 0, info.Size(), func(p []byte) error {
			_, _ = digest.Write(p)
			d.meter.add(int64(len(p)))
			_, err := file.Write(p)
			return err
		})
	})
}

// fetchOne fetches a file by itself.
func (d *treeDownload) fetchOne(ctx context.Context, f *remoteFile) error {
	return d.local(f, func(file *os.File, digest hash.Hash) (fs.FileMode, error) {
		to := io.MultiWriter(file, digest)
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
