package sshtest

import (
	"io"
	"io/fs"
	"os"

	"github.com/pkg/sftp"
	"github.com/spf13/afero"
)

// sftpFiles serves the files of the host, as the login user may use them.
type sftpFiles struct{ fs afero.Fs }

func (s *sftpFiles) Fileread(r *sftp.Request) (io.ReaderAt, error) {
	return s.fs.Open(r.Filepath)
}

func (s *sftpFiles) Filewrite(r *sftp.Request) (io.WriterAt, error) {
	flags := r.Pflags()
	mode := os.O_WRONLY
	if flags.Creat {
		mode |= os.O_CREATE
	}
	if flags.Excl {
		mode |= os.O_EXCL
	}
	if flags.Trunc {
		mode |= os.O_TRUNC
	}
	return s.fs.OpenFile(r.Filepath, mode, 0o644)
}

func (s *sftpFiles) Filecmd(r *sftp.Request) error {
	switch r.Method {
	case "Setstat":
		return s.setstat(r)
	case "Rename":
		if _, err := s.fs.Stat(r.Target); err == nil {
			return os.ErrExist
		}
		return s.fs.Rename(r.Filepath, r.Target)
	case "Mkdir":
		return s.fs.Mkdir(r.Filepath, 0o755)
	case "Remove", "Rmdir":
		return s.fs.Remove(r.Filepath)
	default:
		return sftp.ErrSSHFxOpUnsupported
	}
}

func (s *sftpFiles) setstat(r *sftp.Request) error {
	flags, attributes := r.AttrFlags(), r.Attributes()
	if flags.Permissions {
		if err := s.fs.Chmod(r.Filepath, attributes.FileMode().Perm()); err != nil {
			return err
		}
	}
	if flags.Size {
		f, err := s.fs.OpenFile(r.Filepath, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		return f.Truncate(int64(attributes.Size)) //nolint:gosec // the file system refuses what it cannot hold
	}
	return nil
}

// PosixRename renames over an existing file.
func (s *sftpFiles) PosixRename(r *sftp.Request) error {
	return s.fs.Rename(r.Filepath, r.Target)
}

func (s *sftpFiles) Filelist(r *sftp.Request) (sftp.ListerAt, error) {
	switch r.Method {
	case "List":
		entries, err := afero.ReadDir(s.fs, r.Filepath)
		return listing(entries), err
	case "Stat":
		info, err := s.fs.Stat(r.Filepath)
		return listing{info}, err
	default:
		return nil, sftp.ErrSSHFxOpUnsupported
	}
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
