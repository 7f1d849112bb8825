package tosca

import (
	"context"
	"errors"
	"io/fs"

	"github.com/vnfkit/vnfkit/tosca/csar"
)

// Source is the location of a package that has not been opened. Make it with File or FS.
type Source struct {
	name string
	fsys fs.FS
}

// File returns the Source of a package on disk: a CSAR (.csar or .zip) or a directory with the same layout.
func File(name string) Source { return Source{name: name} }

// FS returns the Source of a package in a file system, as for OpenFS.
func FS(fsys fs.FS) Source { return Source{fsys: fsys} }

// Open opens the package as Open and OpenFS do.
func (s Source) Open(ctx context.Context, opts ...Option) (*Package, error) {
	settings := settingsFrom(opts)
	a, err := s.archive(ctx, settings.archive)
	return load(ctx, a, err, settings)
}

func (s Source) archive(ctx context.Context, o csar.Options) (*csar.Archive, error) {
	switch {
	case s.fsys != nil:
		return csar.OpenFS(ctx, s.fsys, o)
	case s.name != "":
		return csar.Open(ctx, s.name, o)
	}
	return nil, errors.New("tosca: the Source is empty")
}

// revision returns a text that changes when the package changes. It returns "" for an FS, whose changes only reading can detect.
func (s Source) revision(ctx context.Context, l csar.Limits) (string, error) {
	if s.name == "" {
		return "", nil
	}
	return csar.Revision(ctx, s.name, l)
}
