package registry

import (
	"bytes"
	"context"
	"slices"
)

// The files for the container are in a directory that only root can enter; the container mounts them under the same
// path.
const (
	filesDir        = "/etc/vnfkit/registry"
	certificateFile = filesDir + "/tls.crt"
	keyFile         = filesDir + "/tls.key"
	usersFile       = filesDir + "/htpasswd"
)

// files returns the names of the files that the request needs.
func (p *installParam) files() (names []string) {
	if p.TLS != nil {
		names = append(names, certificateFile, keyFile)
	}
	if len(p.Users) > 0 {
		names = append(names, usersFile)
	}
	return names
}

// writeFiles updates the files. Unchanged files are not written, so that the container need not be recreated; files
// that the request no longer needs are removed.
func (s *site) writeFiles(ctx context.Context) error {
	if err := s.machine.Run(ctx, "mkdir", "-p", "-m", "0700", filesDir); err != nil {
		return err
	}
	for _, name := range []string{certificateFile, keyFile, usersFile} {
		if !slices.Contains(s.p.files(), name) {
			if err := s.machine.Remove(ctx, name); err != nil {
				return err
			}
		}
	}
	if s.p.TLS != nil {
		if err := s.writeCertificate(ctx); err != nil {
			return err
		}
	}
	if len(s.p.Users) > 0 {
		return s.writeUsers(ctx)
	}
	return nil
}

// replace writes a file unless it is so already.
func (s *site) replace(ctx context.Context, name string, content []byte) error {
	old, exists, err := s.machine.Read(ctx, name)
	if err != nil || exists && bytes.Equal(old, content) {
		return err
	}
	return s.machine.Write(ctx, name, content, 0o600)
}
