package registry

import (
	"bytes"
	"context"
	"slices"
)

// What the container reads is in a directory that only root can enter; in the container it has the same name.
const (
	filesDir        = "/etc/vnfkit/registry"
	certificateFile = filesDir + "/tls.crt"
	keyFile         = filesDir + "/tls.key"
	usersFile       = filesDir + "/htpasswd"
)

// files are those that the request asks for.
func (p *installParam) files() (names []string) {
	if p.TLS != nil {
		names = append(names, certificateFile, keyFile)
	}
	if len(p.Users) > 0 {
		names = append(names, usersFile)
	}
	return names
}

// writeFiles brings the files up to date. Those that are right stay as they are, so that the container need not be
// made anew; those that are no longer asked for go.
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
