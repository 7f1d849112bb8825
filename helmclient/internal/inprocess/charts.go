package inprocess

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
)

// maxArchive bounds the size of a packaged chart. Its unpacked size is limited by helmclient.CheckArchive and by Helm's
// loader (5 MiB a file).
const maxArchive = 100 << 20

// Show implements helmclient.Charts.
func (c *Client) Show(ctx context.Context, from helmclient.Chart) (*helmclient.ChartInfo, error) {
	ch, err := c.load(ctx, from)
	if err != nil {
		return nil, err
	}
	info := ch.Info()
	return &info, nil
}

// Pull implements helmclient.Charts. The archive is called <name>-<version>.tgz, as Helm does.
func (c *Client) Pull(ctx context.Context, from helmclient.Chart, dir string) (string, error) {
	text, err := c.archive(ctx, from)
	if err != nil {
		return "", err
	}
	if text == nil { // a directory
		ch, err := c.loadDirectory(from.Path)
		if err != nil {
			return "", err
		}
		path, err := ch.Save(dir)
		if err != nil {
			return "", fmt.Errorf("helm: chart %s: %w", ch.Info().Name, err)
		}
		return path, nil
	}
	ch, err := c.parse(text)
	if err != nil {
		return "", err
	}
	info := ch.Info()
	path := filepath.Join(dir, filepath.Base(fmt.Sprintf("%s-%s.tgz", info.Name, info.Version)))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("helm: chart %s: %w", ch.Info().Name, err)
	}
	return path, nil
}

// load reads a chart, which must be one that can be installed.
func (c *Client) load(ctx context.Context, from helmclient.Chart) (Chart, error) {
	text, err := c.archive(ctx, from)
	if err != nil {
		return nil, err
	}
	if text == nil {
		return c.loadDirectory(from.Path)
	}
	return c.parse(text)
}

// archive reads a packaged chart; it returns nil for a directory.
func (c *Client) archive(ctx context.Context, from helmclient.Chart) ([]byte, error) {
	switch given := count(from.Ref != "", from.Path != "", from.Archive != nil); {
	case given != 1:
		return nil, fmt.Errorf("%w: chart: one of Ref, Path and Archive must be given, there are %d", helmclient.ErrInvalid, given)
	case from.Archive != nil:
		return refuse(read(from.Archive, maxArchive))
	case from.Ref != "":
		return c.fetchChart(ctx, from)
	}
	info, err := os.Stat(from.Path)
	if err != nil {
		return refuse(nil, err)
	}
	if info.IsDir() {
		return nil, nil
	}
	return refuse(read(func() (io.ReadCloser, error) { return os.Open(from.Path) }, maxArchive))
}

func refuse(text []byte, err error) ([]byte, error) {
	if err != nil {
		return nil, fmt.Errorf("%w: %w", helmclient.ErrInvalidChart, err)
	}
	return text, nil
}

func count(given ...bool) int {
	n := 0
	for _, one := range given {
		if one {
			n++
		}
	}
	return n
}

// parse reads a packaged chart.
func (c *Client) parse(text []byte) (Chart, error) {
	if _, err := helmclient.CheckArchive(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return usable(c.helm.LoadArchive(bytes.NewReader(text)))
}

// loadDirectory reads an unpacked chart. Helm follows symbolic links in it. Links that lead out of the directory are
// refused: otherwise a chart could include any file that this process can read. Helm does not look into ignored directories.
func (c *Client) loadDirectory(dir string) (Chart, error) {
	root, err := filepath.EvalSymlinks(dir)
	var ignored Ignored
	if err == nil {
		ignored, err = c.helm.ReadIgnored(root)
	}
	if err == nil {
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.IsDir() && path != root {
				return skipIgnored(ignored, root, path, entry)
			}
			if err != nil || entry.Type()&fs.ModeSymlink == 0 {
				return err
			}
			target, err := filepath.EvalSymlinks(path)
			if err != nil {
				return err
			}
			if inside, err := filepath.Rel(root, target); err != nil || !filepath.IsLocal(inside) {
				return fmt.Errorf("link %s leads out of the chart", strings.TrimPrefix(path, root))
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", helmclient.ErrInvalidChart, err)
	}
	return usable(c.helm.LoadDirectory(root))
}

// skipIgnored returns fs.SkipDir for an ignored directory.
func skipIgnored(ignored Ignored, root, path string, entry fs.DirEntry) error {
	name, err := filepath.Rel(root, path)
	if err != nil {
		return err
	}
	info, err := entry.Info()
	if err == nil && ignored(filepath.ToSlash(name), info) {
		return fs.SkipDir
	}
	return err
}

// usable refuses what Helm's command refuses: libraries, and charts without the charts that they depend on.
func usable(ch Chart, err error) (Chart, error) {
	if err == nil {
		err = ch.Installable()
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", helmclient.ErrInvalidChart, err)
	}
	return ch, nil
}
