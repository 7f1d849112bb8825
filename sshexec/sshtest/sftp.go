package sshtest

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pkg/sftp"
	"github.com/spf13/afero"
)

// serveSFTP serves SFTP until the other side ends it.
func (h *Host) serveSFTP(channel io.ReadWriteCloser, user string) {
	handlers := &sftpFiles{host: h, user: user, fs: h.files.masked(user, loginUmask)}
	server := sftp.NewRequestServer(channel, sftp.Handlers{
		FileGet: handlers, FilePut: handlers, FileCmd: handlers, FileList: handlers,
	}, sftp.WithStartDirectory(homeOf(user)))
	_ = server.Serve()
}

// sftpFiles serves the files of the host with the permissions of a user.
type sftpFiles struct {
	host *Host
	user string
	fs   *userFs
}

// did records a request and returns the error that OpenSSH's server would send. OpenSSH reports a full disk like any other
// failure.
func (s *sftpFiles) did(op, path, target string, err error) error {
	s.host.recorder.transfer(Transfer{Op: op, Path: path, Target: target, User: s.user, Time: time.Now(), Err: err})
	return sftpError(err)
}

func sftpError(err error) error {
	switch {
	case err == nil, errors.Is(err, io.EOF):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return sftp.ErrSSHFxNoSuchFile
	case errors.Is(err, fs.ErrPermission):
		return sftp.ErrSSHFxPermissionDenied
	case errors.Is(err, sftp.ErrSSHFxOpUnsupported):
		return sftp.ErrSSHFxOpUnsupported
	default:
		return sftp.ErrSSHFxFailure
	}
}

func (s *sftpFiles) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	f, err := s.fs.Open(r.Filepath)
	if err := s.did("get", r.Filepath, "", err); err != nil {
		return nil, err
	}
	return &sftpFile{File: f}, nil
}

func (s *sftpFiles) Filewrite(r *sftp.Request) (io.WriterAt, error) { return s.OpenFile(r) }

// OpenFile opens a file for writing and, if the flags ask for it, for reading.
func (s *sftpFiles) OpenFile(r *sftp.Request) (sftp.WriterAtReaderAt, error) {
	flags := r.Pflags()
	mode := os.O_WRONLY
	if flags.Read {
		mode = os.O_RDWR
	}
	for flag, set := range map[int]bool{os.O_CREATE: flags.Creat, os.O_EXCL: flags.Excl, os.O_TRUNC: flags.Trunc} {
		if set {
			mode |= flag
		}
	}
	f, err := s.fs.OpenFile(r.Filepath, mode, 0o666)
	if err := s.did("put", r.Filepath, "", err); err != nil {
		return nil, err
	}
	return &sftpFile{File: f, appends: flags.Append}, nil
}

// sftpFile serializes the requests to a file: several requests may use it at once, and ReadAt and WriteAt of a file in memory
// share one position.
type sftpFile struct {
	afero.File
	appends bool
	mu      sync.Mutex
}

func (f *sftpFile) ReadAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	n, err := f.File.ReadAt(p, offset)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	return n, sftpError(err)
}

func (f *sftpFile) WriteAt(p []byte, offset int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.appends {
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return 0, sftpError(err)
		}
		n, err := f.Write(p)
		return n, sftpError(err)
	}
	n, err := f.File.WriteAt(p, offset)
	return n, sftpError(err)
}

func (s *sftpFiles) Filecmd(r *sftp.Request) error {
	var err error
	switch r.Method {
	case "Setstat":
		err = s.setstat(r)
	case "Rename":
		if _, err = s.fs.lstat(r.Target); err == nil {
			err = fs.ErrExist
			break
		}
		err = s.fs.Rename(r.Filepath, r.Target)
	case "Mkdir":
		err = s.fs.Mkdir(r.Filepath, fs.ModePerm)
	case "Rmdir":
		if info, looking := s.fs.lstat(r.Filepath); looking == nil && !info.IsDir() {
			err = syscall.ENOTDIR
			break
		}
		err = s.fs.Remove(r.Filepath)
	case "Remove":
		if info, looking := s.fs.lstat(r.Filepath); looking == nil && info.IsDir() {
			err = syscall.EISDIR
			break
		}
		err = s.fs.Remove(r.Filepath)
	case "Symlink": // Filepath is the target of the link, Target its name
		return s.did("symlink", r.Target, r.Filepath, s.fs.SymlinkIfPossible(r.Filepath, r.Target))
	default:
		return sftp.ErrSSHFxOpUnsupported
	}
	return s.did(strings.ToLower(r.Method), r.Filepath, r.Target, err)
}

func (s *sftpFiles) setstat(r *sftp.Request) error {
	flags, attributes := r.AttrFlags(), r.Attributes()
	if flags.Size {
		f, err := s.fs.OpenFile(r.Filepath, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		err = f.Truncate(int64(attributes.Size)) //nolint:gosec // the file system refuses a size that is too large
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	if flags.Permissions {
		if err := s.fs.Chmod(r.Filepath, attributes.FileMode()&(fs.ModePerm|fs.ModeSticky)); err != nil {
			return err
		}
	}
	if flags.Acmodtime {
		accessed, modified := time.Unix(int64(attributes.Atime), 0), time.Unix(int64(attributes.Mtime), 0)
		if err := s.fs.Chtimes(r.Filepath, accessed, modified); err != nil {
			return err
		}
	}
	if flags.UidGid {
		return s.chown(r.Filepath, int(attributes.UID), int(attributes.GID))
	}
	return nil
}

func (s *sftpFiles) chown(name string, uid, gid int) error {
	if _, err := s.fs.Stat(name); err != nil {
		return err
	}
	if s.user != "root" {
		return syscall.EPERM
	}
	at, err := s.fs.follow(name, false)
	if err == nil {
		err = s.fs.writable("chown", at)
	}
	if err == nil {
		s.host.files.setOwner(at, s.host.users.name(uid)+":"+s.host.users.name(gid))
	}
	return err
}

// PosixRename renames a file and replaces an existing target.
func (s *sftpFiles) PosixRename(r *sftp.Request) error {
	return s.did("posix-rename", r.Filepath, r.Target, s.fs.Rename(r.Filepath, r.Target))
}

func (s *sftpFiles) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch r.Method {
	case "List":
		entries, err := afero.ReadDir(s.fs, r.Filepath)
		for i, entry := range entries {
			entries[i] = s.host.owned(entry, strings.TrimSuffix(r.Filepath, "/")+"/"+entry.Name())
		}
		return listing(entries), s.did("list", r.Filepath, "", err)
	case "Stat":
		return s.found(r.Filepath, s.fs.Stat)
	default:
		return nil, sftp.ErrSSHFxOpUnsupported
	}
}

// Lstat returns information about a symbolic link itself.
func (s *sftpFiles) Lstat(r *sftp.Request) (sftp.ListerAt, error) {
	return s.found(r.Filepath, s.fs.lstat)
}

func (s *sftpFiles) found(name string, look func(string) (fs.FileInfo, error)) (sftp.ListerAt, error) {
	info, err := look(name)
	if err != nil {
		return nil, sftpError(err)
	}
	return listing{s.host.owned(info, name)}, nil
}

// Readlink returns the target of a symbolic link.
func (s *sftpFiles) Readlink(name string) (string, error) {
	target, err := s.fs.ReadlinkIfPossible(name)
	return target, sftpError(err)
}

// RealPath returns the absolute path of a file with all symbolic links resolved.
func (s *sftpFiles) RealPath(name string) (string, error) {
	if !strings.HasPrefix(name, "/") {
		name = homeOf(s.user) + "/" + name
	}
	at, err := s.fs.follow(name, false)
	return at, sftpError(err)
}

type listing []fs.FileInfo

func (l listing) ListAt(to []fs.FileInfo, offset int64) (int, error) {
	if offset >= int64(len(l)) {
		return 0, io.EOF
	}
	n := copy(to, l[offset:])
	if n < len(to) {
		return n, io.EOF
	}
	return n, nil
}
