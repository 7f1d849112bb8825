package docker

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"

	"github.com/spf13/afero"
)

// Load returns the images in an archive of "docker save". The daemon unpacks it into a directory, and removes that.
func Load(ctx context.Context, files afero.Fs, from io.Reader) ([]Image, error) {
	const beside = "/var/lib/docker/tmp"
	if err := files.MkdirAll(beside, 0o700); err != nil {
		return nil, err
	}
	dir, err := afero.TempDir(files, beside, "docker-import-")
	if err != nil {
		return nil, err
	}
	a := archive{files: files, dir: dir}
	defer func() { _ = a.files.RemoveAll(a.dir) }()
	if err := a.extract(ctx, from); err != nil {
		return nil, fmt.Errorf("Error processing tar file(exit status 1): %w", err)
	}
	return a.images()
}

// archive is an unpacked archive.
type archive struct {
	files afero.Fs
	dir   string
}

// extract unpacks a tar, also one that gzip has packed.
func (a archive) extract(ctx context.Context, from io.Reader) error {
	plain, err := inflate(from)
	if err != nil {
		return err
	}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		name := a.at(h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = a.files.MkdirAll(name, 0o700)
		case tar.TypeReg:
			err = a.write(name, r)
		case tar.TypeSymlink: // a layer that another image has too
			err = a.copy(name, a.at(path.Dir(h.Name)+"/"+h.Linkname))
		case tar.TypeLink:
			err = a.copy(name, a.at(h.Linkname))
		}
		if err != nil {
			return err
		}
	}
}

// at is where a name of the archive leads: never out of its directory.
func (a archive) at(name string) string { return path.Join(a.dir, path.Join("/", name)) }

// inflate takes gzip off, if it is there.
func inflate(from io.Reader) (io.Reader, error) {
	buffered := bufio.NewReader(from)
	if head, err := buffered.Peek(2); err != nil || head[0] != 0x1f || head[1] != 0x8b {
		return buffered, nil //nolint:nilerr // reading on fails in the same way
	}
	return gzip.NewReader(buffered)
}

func (a archive) write(name string, content io.Reader) error {
	if err := a.files.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := a.files.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

func (a archive) copy(name, from string) error {
	f, err := a.files.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return a.write(name, f)
}

// images are those of manifest.json (moby/moby, image/tarexport/load.go).
func (a archive) images() (out []Image, err error) {
	text, err := afero.ReadFile(a.files, a.dir+"/manifest.json")
	if err != nil { // an archive of before Docker 1.10, perhaps
		return nil, fmt.Errorf("open %s/repositories: no such file or directory", a.dir)
	}
	var manifest []struct {
		Config   string
		RepoTags []string
		Layers   []string
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		return nil, err
	}
	for _, m := range manifest {
		config, err := afero.ReadFile(a.files, a.at(m.Config))
		if err != nil {
			return nil, fmt.Errorf("open %s/%s: no such file or directory", a.dir, m.Config)
		}
		if err := a.layers(config, m.Layers); err != nil {
			return nil, err
		}
		sum := sha256.Sum256(config)
		loaded := Image{ID: "sha256:" + hex.EncodeToString(sum[:]), Registry: IsRegistry(config)}
		for _, name := range m.RepoTags {
			if Tagged(name) != name {
				return nil, fmt.Errorf("invalid tag %q", name)
			}
			loaded.Names = append(loaded.Names, name)
		}
		out = append(out, loaded)
	}
	return out, nil
}

// layers finds that the layers are those of the configuration.
func (a archive) layers(config []byte, names []string) error {
	var f struct {
		RootFS *struct {
			DiffIDs []string `json:"diff_ids"`
		} `json:"rootfs"`
	}
	if err := json.Unmarshal(config, &f); err != nil {
		return err
	}
	if f.RootFS == nil {
		return errors.New("invalid image JSON, no RootFS key")
	}
	if len(names) != len(f.RootFS.DiffIDs) {
		return fmt.Errorf("invalid manifest, layers length mismatch: expected %d, got %d", len(f.RootFS.DiffIDs), len(names))
	}
	for i, name := range names {
		got, err := a.diffID(a.at(name))
		if err != nil {
			return err
		}
		if got != f.RootFS.DiffIDs[i] {
			return fmt.Errorf("invalid diffID for layer %d: expected %q, got %q", i, f.RootFS.DiffIDs[i], got)
		}
	}
	return nil
}

func (a archive) diffID(name string) (string, error) {
	f, err := a.files.Open(name)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	plain, err := inflate(f)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	_, err = io.Copy(sum, plain)
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), err
}
