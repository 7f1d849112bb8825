package docker

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/afero"
)

// Load returns the images in an archive of "docker save", by its manifest.json and the configurations of the images. The daemon stores
// the archive while it reads the archive.
func Load(files afero.Fs, from io.Reader) ([]Image, error) {
	const beside = "/var/lib/docker/tmp"
	if err := files.MkdirAll(beside, 0o700); err != nil {
		return nil, err
	}
	f, err := afero.TempFile(files, beside, "docker-import-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = errors.Join(f.Close(), files.Remove(f.Name())) }()
	if _, err := io.Copy(f, from); err != nil {
		return nil, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	small, err := read(f)
	if err != nil {
		return nil, fmt.Errorf("Error processing tar file: %w", err)
	}
	return images(small)
}

// read returns the files of a tar, or of a tar that gzip has packed, that are no layers.
func read(from io.Reader) (map[string][]byte, error) {
	buffered := bufio.NewReader(from)
	var plain io.Reader = buffered
	if head, err := buffered.Peek(2); err == nil && head[0] == 0x1f && head[1] == 0x8b {
		if plain, err = gzip.NewReader(buffered); err != nil {
			return nil, err
		}
	}
	const largest = 1 << 20
	out := map[string][]byte{}
	for r := tar.NewReader(plain); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil && h.Size <= largest {
			out[h.Name], err = io.ReadAll(r)
		}
		if err != nil {
			return nil, err
		}
	}
}

// images are those of manifest.json (moby/moby, image/tarexport/load.go).
func images(files map[string][]byte) (out []Image, err error) {
	var manifest []struct {
		Config   string
		RepoTags []string
	}
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil {
		return nil, fmt.Errorf("manifest.json: %w", err)
	}
	for _, m := range manifest {
		config, found := files[m.Config]
		if !found {
			return nil, fmt.Errorf("open %s: no such file or directory", m.Config)
		}
		sum := sha256.Sum256(config)
		out = append(out, Image{ID: "sha256:" + hex.EncodeToString(sum[:]), Names: m.RepoTags, Registry: IsRegistry(config)})
	}
	return out, nil
}
