package kubernetes

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// chartMeta is the part of Chart.yaml that this package reads.
type chartMeta struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// check finds what Helm refuses (chart.Metadata.Validate).
func (m chartMeta) check() error {
	switch {
	case m.Name == "" || m.Name == "." || m.Name == ".." || strings.Contains(m.Name, "/"):
		return fmt.Errorf("is not a chart: Chart.yaml has no valid name (%q)", m.Name)
	case m.Version == "":
		return errors.New("is not a chart: Chart.yaml has no version")
	}
	return nil
}

// isFile returns an error if the path is not a file of the package.
func isFile(files fs.FS, name string) error {
	info, err := stat(files, name)
	if err == nil && info.IsDir() {
		return errors.New("is a directory of the package: a file is needed")
	}
	return err
}

func stat(files fs.FS, name string) (fs.FileInfo, error) {
	if !fs.ValidPath(name) {
		return nil, errors.New("must be the path of a file in the package, such as Files/kubernetes/web.tgz")
	}
	info, err := fs.Stat(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("is not in the package")
	}
	return info, err
}

// inspect reads a chart of the package, an archive or a directory, and returns its metadata or its fault.
func inspect(files fs.FS, name string) (chartMeta, error) {
	info, err := stat(files, name)
	if err != nil {
		return chartMeta{}, err
	}
	if info.IsDir() {
		data, err := fs.ReadFile(files, path.Join(name, "Chart.yaml"))
		if err != nil {
			return chartMeta{}, errors.New("is not a chart: the directory has no Chart.yaml")
		}
		dir, err := fs.Sub(files, name)
		if err == nil {
			_, err = readIgnoreRules(dir)
		}
		if err != nil {
			return chartMeta{}, err
		}
		return parseMeta(data)
	}
	f, err := files.Open(name)
	if err != nil {
		return chartMeta{}, err
	}
	defer func() { _ = f.Close() }()
	meta, err := helmclient.CheckArchive(f)
	if err != nil {
		return chartMeta{}, err
	}
	return parseMeta(meta)
}

func parseMeta(data []byte) (chartMeta, error) {
	var m chartMeta
	if err := yaml.Unmarshal(data, &m); err != nil {
		return m, errors.New("is not a chart: Chart.yaml cannot be read")
	}
	return m, m.check()
}

// packaged opens a chart of the package as an archive; a directory is packed while it is read.
func packaged(files fs.FS, name string) (io.ReadCloser, error) {
	info, err := stat(files, name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return files.Open(name)
	}
	dir, err := fs.Sub(files, name)
	if err != nil {
		return nil, err
	}
	ignored, err := readIgnoreRules(dir)
	if err != nil {
		return nil, err
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(pack(w, dir, ignored)) }() // ends when the reader closes
	return r, nil
}

// pack writes a directory as a packaged chart, the same bytes each time, without the files that its .helmignore names. Helm does
// not read the name of the directory in an archive.
func pack(to io.Writer, dir fs.FS, ignored ignoreRules) error {
	zipped := gzip.NewWriter(to)
	archive := tar.NewWriter(zipped)
	err := fs.WalkDir(dir, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case ignored.ignores(name, entry.IsDir()) && entry.IsDir():
			return fs.SkipDir
		case entry.IsDir() || ignored.ignores(name, false):
			return nil
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is not a file", name)
		}
		if err := archive.WriteHeader(&tar.Header{Name: "chart/" + name, Typeflag: tar.TypeReg, Mode: 0o644, Size: info.Size()}); err != nil {
			return err
		}
		f, err := dir.Open(name)
		if err != nil {
			return err
		}
		_, err = io.Copy(archive, f)
		return errors.Join(err, f.Close())
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}
