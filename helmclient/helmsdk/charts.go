package helmsdk

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"

	"github.com/vnfkit/vnfkit/helmclient"
)

// maxArchive is how large a packaged chart may be; what it unpacks to is limited by helmclient.CheckArchive and by Helm's
// loader (5 MiB a file).
const maxArchive = 100 << 20

// Show implements helmclient.Charts.
func (c *Client) Show(ctx context.Context, from helmclient.Chart) (*helmclient.ChartInfo, error) {
	ch, err := c.load(ctx, from)
	if err != nil {
		return nil, err
	}
	info := chartInfo(ch)
	return &info, nil
}

// Pull implements helmclient.Charts. The archive is called <name>-<version>.tgz, as Helm does.
func (c *Client) Pull(ctx context.Context, from helmclient.Chart, dir string) (string, error) {
	text, err := c.archive(ctx, from)
	if err != nil {
		return "", err
	}
	if text == nil { // a directory
		ch, err := loadDirectory(from.Path)
		if err != nil {
			return "", err
		}
		path, err := chartutil.Save(ch, dir)
		if err != nil {
			return "", fmt.Errorf("helm: chart %s: %w", ch.Name(), err)
		}
		return path, nil
	}
	ch, err := parse(text)
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, filepath.Base(fmt.Sprintf("%s-%s.tgz", ch.Name(), ch.Metadata.Version)))
	if err := os.WriteFile(path, text, 0o600); err != nil {
		return "", fmt.Errorf("helm: chart %s: %w", ch.Name(), err)
	}
	return path, nil
}

// load reads a chart, which must be one that can be installed.
func (c *Client) load(ctx context.Context, from helmclient.Chart) (*chart.Chart, error) {
	text, err := c.archive(ctx, from)
	if err != nil {
		return nil, err
	}
	if text == nil {
		return loadDirectory(from.Path)
	}
	return parse(text)
}

// archive reads a packaged chart from where it is; nothing for a directory.
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
func parse(text []byte) (*chart.Chart, error) {
	if _, err := helmclient.CheckArchive(bytes.NewReader(text)); err != nil {
		return nil, err
	}
	return usable(loader.LoadArchive(bytes.NewReader(text)))
}

// loadDirectory reads an unpacked chart. Helm follows symbolic links in it: those that lead out of it are refused, or a
// chart could take in any file that this process can read.
func loadDirectory(dir string) (*chart.Chart, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
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
	return usable(loader.LoadDir(root))
}

// usable refuses what Helm's command refuses: libraries, and charts without the charts that they depend on.
func usable(ch *chart.Chart, err error) (*chart.Chart, error) {
	if err == nil && ch.Metadata.Type != "" && ch.Metadata.Type != "application" {
		err = fmt.Errorf("chart %s: charts of type %q cannot be installed", ch.Name(), ch.Metadata.Type)
	}
	if err == nil {
		err = action.CheckDependencies(ch, ch.Metadata.Dependencies)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", helmclient.ErrInvalidChart, err)
	}
	return ch, nil
}
