package sshtest

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/spf13/afero"
	"mvdan.cc/sh/v3/interp"
)

func (s *shell) path(ctx context.Context, name string) string {
	if path.IsAbs(name) {
		return path.Clean(name)
	}
	return path.Join(interp.HandlerCtx(ctx).Dir, name)
}

func (s *shell) open(ctx context.Context, name string, flag int, perm os.FileMode) (io.ReadWriteCloser, error) {
	hc := interp.HandlerCtx(ctx)
	if flag&(os.O_WRONLY|os.O_RDWR) == 0 {
		f, err := s.process.FS.Open(s.path(ctx, name))
		if err != nil {
			return nil, shellError(err, name)
		}
		out, err := s.process.host.pipe(ctx, s.asText(f, s.path(ctx, name)))
		if err != nil {
			return nil, err
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.inputs == nil {
			s.inputs = map[*os.File]string{}
		}
		s.inputs[out] = s.path(ctx, name)
		return out, nil
	}
	switch name {
	case "/dev/null":
		return &target{w: io.Discard}, nil
	case "/dev/stdout":
		return &target{w: hc.Stdout}, nil
	case "/dev/stderr":
		return &target{w: hc.Stderr}, nil
	}
	at := s.path(ctx, name)
	f, err := s.files().OpenFile(at, flag, 0o666)
	if err != nil {
		return nil, shellError(err, name)
	}
	if flag&os.O_APPEND != 0 {
		if _, err := f.Seek(0, io.SeekEnd); err != nil {
			return nil, err
		}
	}
	return &target{w: f, close: f.Close, holders: 1}, nil
}

// asText returns the content of a file. If source is about to read the file, the content is changed as parse changes it.
func (s *shell) asText(f afero.File, name string) io.ReadCloser {
	s.mu.Lock()
	sourced := s.sourced == name
	if sourced {
		s.sourced = ""
	}
	s.mu.Unlock()
	if !sourced {
		return f
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return f
	}
	_ = f.Close()
	return io.NopCloser(strings.NewReader(changed(string(text))))
}

// files returns the files of the host with the current umask of the shell.
func (s *shell) files() *userFs {
	return s.process.host.files.masked(s.process.User, os.FileMode(s.umask.Load())) //nolint:gosec // parsed from octal digits
}

// shellError is the one type of error after which the interpreter prints the error and continues.
func shellError(err error, name string) error {
	return &os.PathError{Op: "open", Path: name, Err: errText(reason(unwrapPath(err)))}
}

type errText string

func (e errText) Error() string { return string(e) }

func unwrapPath(err error) error {
	if at, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost error
		return at.Err
	}
	return err
}

func (s *shell) stat(ctx context.Context, name string, follow bool) (fs.FileInfo, error) {
	at := s.path(ctx, name)
	look := s.process.lstat
	if follow {
		look = s.process.FS.Stat
	}
	info, err := look(at)
	if err != nil && s.entering {
		info, err = s.process.host.FS().Stat(at)
	}
	if err != nil {
		return nil, err
	}
	return s.process.host.owned(info, at), nil
}

func (s *shell) readDir(ctx context.Context, name string) ([]fs.DirEntry, error) {
	infos, err := afero.ReadDir(s.process.FS, s.path(ctx, name))
	entries := make([]fs.DirEntry, len(infos))
	for i, info := range infos {
		entries[i] = fs.FileInfoToDirEntry(info)
	}
	return entries, err
}

func (s *shell) access(ctx context.Context, name string, mode interp.AccessMode) error {
	if s.entering {
		return nil
	}
	at, err := s.process.host.files.follow(s.path(ctx, name), false)
	if err != nil {
		return err
	}
	view := s.process.host.files.as(s.process.User)
	info, err := view.Stat(at)
	switch {
	case err != nil:
		return err
	case mode&interp.AccessRead != 0 && !view.mayRead(at),
		mode&interp.AccessWrite != 0 && !view.mayWrite(at, info),
		mode&interp.AccessExec != 0 && !info.IsDir() && info.Mode()&0o111 == 0,
		mode&interp.AccessExec != 0 && info.IsDir() && at == "/root" && !view.owns(at):
		return denied("access", at)
	}
	return nil
}
