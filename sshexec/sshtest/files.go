package sshtest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/spf13/afero"
)

// files are the files of a host. A simple rule of ownership detects a forgotten sudo: directories of the system belong to
// root, all others to the login user. See the package comment.
type files struct {
	fs    storage
	login string
	done  func() error

	faults *faults
	clock  func() time.Time // of the host
	// ownClock is set if Config.Clock is set. Files then get the time of this clock.
	ownClock bool
	procFs   func(user, name string) afero.Fs // the current content of /proc

	mu     sync.Mutex
	owners map[string]string // "user:group" of the paths whose owner differs from the rule
}

var rootDirs = []string{"/etc", "/usr", "/opt", "/var/lib", "/root", "/proc", "/bin", "/sbin", "/lib", "/boot"}

func newFiles(c Config, faults *faults) (*files, error) {
	f := &files{fs: newMemFs(), login: c.User, done: func() error { return nil }, faults: faults, clock: c.Clock, ownClock: c.ownClock, owners: map[string]string{}}
	if c.Dir != "" {
		root, err := os.OpenRoot(c.Dir)
		if err != nil {
			return nil, err
		}
		f.fs, f.done = rootFs{root}, root.Close
	}
	for _, dir := range []string{
		"/bin", "/dev", "/etc", "/home", "/opt", "/proc", "/root", "/run", "/tmp", "/usr/bin", "/usr/lib/openssh", "/usr/local/bin", "/usr/share",
		"/var/lib", "/var/log", "/var/tmp", homeOf(c.User),
	} {
		if err := f.fs.MkdirAll(dir, 0o755); err != nil {
			return nil, errors.Join(err, f.done())
		}
	}
	for _, dir := range []string{"/tmp", "/var/tmp"} { // every user may create files here
		f.owners[dir] = "root:root"
		if err := f.fs.Chmod(dir, fs.ModeSticky|fs.ModePerm); err != nil {
			return nil, errors.Join(err, f.done())
		}
	}
	for name, content := range map[string]string{
		sftpServerPath:  "\x7fELF",
		"/etc/hostname": c.Name + "\n",
		"/etc/hosts":    "127.0.0.1 localhost\n127.0.1.1 " + c.Name + "\n",
	} {
		if ok, _ := afero.Exists(f.fs, name); ok {
			continue // a host that used this directory before has written the file
		}
		if err := afero.WriteFile(f.fs, name, []byte(content), 0o644); err != nil {
			return nil, errors.Join(err, f.done())
		}
	}
	if err := f.fs.Chmod(sftpServerPath, 0o755); err != nil {
		return nil, errors.Join(err, f.done())
	}
	return f, nil
}

func (f *files) close() error { return f.done() }

// clear removes the content of a directory.
func (f *files) clear(dir string) error {
	root := f.ofTest()
	entries, err := afero.ReadDir(root, dir)
	for _, entry := range entries {
		err = errors.Join(err, root.RemoveAll(path.Join(dir, entry.Name())))
	}
	return err
}

func homeOf(user string) string {
	if user == "root" {
		return "/root"
	}
	return "/home/" + user
}

// as returns the files as user may use them.
func (f *files) as(user string) *userFs { return &userFs{files: f, user: user, faults: f.faults} }

// masked returns the files as a process of user with this umask may use them.
func (f *files) masked(user string, umask fs.FileMode) *userFs {
	u := f.as(user)
	u.umask = umask
	return u
}

// ofTest returns the files for Host.FS: with the permissions of root, without faults and without /proc.
func (f *files) ofTest() *userFs {
	return &userFs{files: f, user: "root", faults: newFaults(), noProc: true}
}

// owner returns "user:group" of a path.
func (f *files) owner(name string) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	for at := name; ; at = path.Dir(at) {
		if owner, ok := f.owners[at]; ok {
			return owner
		}
		if at == "/" {
			break
		}
	}
	if inRootDir(name) {
		return "root:root"
	}
	return f.login + ":" + f.login
}

// ownerOf is owner for a path that may contain symbolic links.
func (f *files) ownerOf(name string) string {
	if at, err := f.follow(name, true); err == nil {
		name = at
	}
	return f.owner(name)
}

func (f *files) setOwner(name, owner string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.owners[name] = owner
}

// moved moves the stored owners of a tree to its new path, or deletes them if to is "".
func (f *files) moved(from, to string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if to != "" {
		delete(f.owners, to)
	}
	for name, owner := range f.owners {
		if name != from && !strings.HasPrefix(name, from+"/") {
			continue
		}
		delete(f.owners, name)
		if to != "" {
			f.owners[to+name[len(from):]] = owner
		}
	}
}

func inRootDir(name string) bool {
	for _, dir := range rootDirs {
		if within(name, dir) {
			return true
		}
	}
	return name == "/"
}

// within reports whether a path is a directory or below it.
func within(name, dir string) bool {
	return name == dir || dir == "/" || strings.HasPrefix(name, dir+"/")
}
