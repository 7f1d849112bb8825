package sshexec

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// treeScript creates the directory $1 and in it the staging directory $2, removes staging directories that are a day
// old, and prints the state of each name that it reads. $3 is the prefix of the names of staging directories.
const treeScript = `LC_ALL=C; export LC_ALL; umask 022; if [ ! -d "$1" ]; then mkdir -p "$1" || exit 1; echo made; fi; umask 077; me=$(id -un); now=$(date +%s); ` +
	`for p in "$1/$3"*; do if [ -L "$p" ] || [ ! -d "$p" ]; then continue; fi; ` +
	`s=$(stat -c "%U %Y" "$p") && [ "${s% *}" = "$me" ] && [ "$((now - ${s#* }))" -gt 86400 ] && rm -rf "$p"; done; ` +
	`if [ ! -d "$2" ]; then mkdir "$2" || exit 1; fi; xargs -0 -r stat -c "%s %a %U:%G %F%n" 2>/dev/null; exit 0`

// look creates the staging directory and determines which files differ.
func (u *treeUpload) look(ctx context.Context) error {
	if u.send != nil {
		return nil // an earlier attempt has done this
	}
	var names []string
	dirs, files := map[string]*treeDir{}, map[string]*treeFile{}
	for _, d := range u.dirs {
		if plain(d.name) {
			dirs[u.target(d.name)] = d
			names = append(names, u.target(d.name))
		}
	}
	for _, f := range u.files {
		if plain(f.name) {
			files[u.target(f.name)] = f
			names = append(names, u.target(f.name))
		}
	}
	var wrong faults
	alike := map[string]*treeFile{}
	begun := false
	err := u.host.Exec(ctx, Command{
		Argv:  []string{"/bin/sh", "-c", treeScript, "sh", u.tree.Path, u.staging, stagingPrefix},
		Stdin: zeroes(names), Root: u.tree.Root, Grace: time.Second, does: doing("look at files below", u.tree.Path), begun: &begun,
		// One line reports that the directory was created; the other lines are the output of stat.
		Stdout: atMost(len(names)+1, func(line string) error {
			facts, name, named := strings.Cut(line, "/")
			if !named {
				u.made = true
				return nil
			}
			name = "/" + name
			size, rest, _ := strings.Cut(facts, " ")
			mode, rest, _ := strings.Cut(rest, " ")
			owner, kind, _ := strings.Cut(rest, " ")
			seen := sight{mode: mode, owner: owner}
			seen.size, _ = strconv.ParseInt(size, 10, 64)
			d, f := dirs[name], files[name]
			switch {
			case d != nil && kind == "directory":
				d.there = true
			case d != nil:
				wrong.add(fmt.Errorf("%s is a %s and no directory: %w", name, kind, ErrIrregular))
			case f != nil && kind == "directory":
				wrong.add(fmt.Errorf("%s is a directory: %w", name, ErrIrregular))
			case f != nil && strings.HasPrefix(kind, "regular") && seen.size == f.size && mode == fmt.Sprintf("%o", f.perm) && seen.owned(u.tree.Owner):
				alike[name] = f
			}
			return nil
		}),
	})
	u.begun = u.begun || begun
	if err != nil {
		return u.host.fileFault("upload", u.tree.Path, err)
	}
	if err := wrong.join(); err != nil {
		return u.host.fail(err)
	}
	same, err := u.same(ctx, alike)
	if err != nil {
		return err
	}
	u.send = []*treeFile{}
	total := int64(0)
	for _, f := range u.files {
		if !same[f] {
			f.staged = strconv.Itoa(len(u.send))
			u.send = append(u.send, f)
			total += f.size
		}
	}
	u.meter.total(total)
	return nil
}

const manyScript = `LC_ALL=C; export LC_ALL; ` + digestMany + `b 2>/dev/null; exit 0`

// same returns which of the files with equal size, mode and owner also have an equal digest.
func (u *treeUpload) same(ctx context.Context, alike map[string]*treeFile) (map[*treeFile]bool, error) {
	same := map[*treeFile]bool{}
	if len(alike) == 0 {
		return same, nil
	}
	var names []string
	for name := range alike {
		names = append(names, name)
	}
	slices.Sort(names)
	there, failed := map[string]string{}, make(chan error, 1)
	begun := u.host.pool.spawn(func() {
		failed <- u.host.Exec(ctx, Command{
			Argv:  []string{"/bin/sh", "-c", manyScript, "sh"},
			Stdin: zeroes(names), Root: u.tree.Root, Grace: time.Second, does: doing("digest files below", u.tree.Path),
			Stdout: atMost(len(names), func(line string) error {
				if digest, name, ok := digestLine(line); ok && alike[name] != nil {
					there[name] = strings.Clone(digest)
				}
				return nil
			}),
		})
	})
	if !begun {
		return nil, u.host.fail(ErrClosed)
	}
	here := make([]string, len(names))
	err := each(ctx, len(names), 4, func(i int) (err error) {
		here[i], err = u.digest(ctx, alike[names[i]])
		return err
	})
	if remote := <-failed; remote != nil {
		return nil, u.host.fileFault("upload", u.tree.Path, remote)
	}
	if err != nil {
		return nil, u.host.fail(err)
	}
	for i, name := range names {
		same[alike[name]] = there[name] == here[i]
	}
	return same, nil
}

func (u *treeUpload) digest(ctx context.Context, f *treeFile) (string, error) {
	file, err := u.from.Open(f.name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	digest := sha256.New()
	if _, err := io.Copy(digest, &while{ctx, file}); err != nil {
		return "", fmt.Errorf("%q: read content: %w", f.name, err)
	}
	return sum(digest), nil
}

// gather creates the directories and sends the files to the staging directory.
func (u *treeUpload) gather(ctx context.Context, s *sftpSession) error {
	if _, ok := s.HasExtension("posix-rename@openssh.com"); !ok {
		return errNoSFTP // the server has no atomic rename
	}
	if err := u.makeDirs(ctx, s); err != nil {
		return err
	}
	sent := int64(0)
	for _, f := range u.send {
		if f.sent {
			sent += f.size
		}
	}
	u.meter.set(sent)
	var wrong faults
	var one sync.Mutex // sends one large file at a time, because each has many outstanding requests
	buffers := sync.Pool{New: func() any { return new(bytes.Buffer) }}
	err := each(ctx, len(u.send), treeWorkers, func(i int) error {
		f := u.send[i]
		if f.sent {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var err error
		if f.size > treeSmall {
			one.Lock()
			err = u.sendLarge(ctx, s, f)
			one.Unlock()
		} else {
			buffer := buffers.Get().(*bytes.Buffer)
			err = u.sendSmall(s, f, buffer)
			buffers.Put(buffer)
		}
		var unreadable *readError
		if errors.As(err, &unreadable) || err != nil && refusal(err) {
			wrong.add(fmt.Errorf("%q: %w", f.name, err))
			return nil
		}
		f.sent = err == nil
		return err
	})
	return errors.Join(err, wrong.join())
}

// makeDirs creates the missing directories, concurrently for each depth.
func (u *treeUpload) makeDirs(ctx context.Context, s *sftpSession) error {
	levels := map[int][]*treeDir{}
	deepest := 0
	for _, d := range u.dirs {
		if !d.there && !d.made {
			depth := strings.Count(d.name, "/") + 1
			levels[depth] = append(levels[depth], d)
			deepest = max(deepest, depth)
		}
	}
	for depth := range deepest + 1 {
		level := levels[depth]
		err := each(ctx, len(level), inFlight, func(i int) error { return u.makeDir(s, level[i]) })
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *treeUpload) makeDir(s *sftpSession, d *treeDir) error {
	name := u.target(d.name)
	if err := s.Mkdir(name); err == nil {
		d.made = true
		return s.Chmod(name, d.perm)
	}
	info, err := s.Lstat(name)
	switch {
	case err != nil:
		return fmt.Errorf("make directory %s: %w", name, err)
	case !info.IsDir():
		return fmt.Errorf("%s is no directory: %w", name, ErrIrregular)
	}
	d.there = true
	return nil
}

// stage creates the file in the staging directory.
func (u *treeUpload) stage(s *sftpSession, f *treeFile) (io.WriterAt, func() error, error) {
	name := path.Join(u.staging, f.staged)
	file, err := s.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, nil, err
	}
	// Only this user can enter the directory, so the file can have its final mode.
	if err := file.Chmod(f.perm); err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, file.Close, nil
}

func (u *treeUpload) sendSmall(s *sftpSession, f *treeFile, buffer *bytes.Buffer) error {
	content, err := u.from.Open(f.name)
	if err != nil {
		return &readError{err}
	}
	defer content.Close()
	buffer.Reset()
	if _, err := buffer.ReadFrom(io.LimitReader(content, treeSmall+1)); err != nil {
		return &readError{err}
	}
	if buffer.Len() > treeSmall {
		return &readError{errGrown}
	}
	digest := sha256.Sum256(buffer.Bytes())
	f.digest = fmt.Sprintf("%x", digest)
	file, end, err := u.stage(s, f)
	if err != nil {
		return err
	}
	for rest, at := buffer.Bytes(), int64(0); len(rest) > 0; {
		part := rest[:min(len(rest), s.packet)]
		if _, err := file.WriteAt(part, at); err != nil {
			return errors.Join(err, end())
		}
		rest, at = rest[len(part):], at+int64(len(part))
		u.meter.add(int64(len(part)))
	}
	return end()
}

// errGrown: the content of a file is larger than its size at the beginning.
var errGrown = fmt.Errorf("the content is more than the %d bytes that the file was to have at most", treeSmall)

func (u *treeUpload) sendLarge(ctx context.Context, s *sftpSession, f *treeFile) error {
	content, err := u.from.Open(f.name)
	if err != nil {
		return &readError{err}
	}
	digest := sha256.New()
	out := newOutgoing(content, 0, digest, u.meter, func(chunk) {})
	defer func() {
		if out.idle(ctx) {
			_ = content.Close()
		}
	}()
	file, end, err := u.stage(s, f)
	if err != nil {
		return err
	}
	if err := out.pump(ctx, s.packet, file); err != nil {
		return errors.Join(err, end())
	}
	f.digest = sum(digest)
	return end()
}
