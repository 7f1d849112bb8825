package helmsdk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/ignore"
	"helm.sh/helm/v3/pkg/repo"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// loaded implements inprocess.Chart.
type loaded struct{ *chart.Chart }

func loadArchive(archive io.Reader) (inprocess.Chart, error) {
	ch, err := loader.LoadArchive(archive)
	return loaded{ch}, err
}

func loadDirectory(dir string) (inprocess.Chart, error) {
	ch, err := loader.LoadDir(dir)
	return loaded{ch}, err
}

// readIgnored reads the rules of .helmignore, if the directory has one.
func readIgnored(dir string) (inprocess.Ignored, error) {
	rules, err := ignore.ParseFile(filepath.Join(dir, ignore.HelmIgnore))
	if errors.Is(err, fs.ErrNotExist) {
		rules, err = ignore.Empty(), nil
	}
	if err != nil {
		return nil, err
	}
	rules.AddDefaults()
	return rules.Ignore, nil
}

func (l loaded) Info() helmclient.ChartInfo { return chartInfo(l.Chart) }

func chartInfo(c *chart.Chart) helmclient.ChartInfo {
	if c == nil || c.Metadata == nil {
		return helmclient.ChartInfo{}
	}
	m := c.Metadata
	return helmclient.ChartInfo{Name: m.Name, Version: m.Version, AppVersion: m.AppVersion, Description: m.Description}
}

// Installable returns an error for a chart that the program helm does not install either: a library, or one that lacks a chart
// it depends on.
func (l loaded) Installable() error {
	if kind := l.Metadata.Type; kind != "" && kind != "application" {
		return fmt.Errorf("chart %s: charts of type %q cannot be installed", l.Name(), kind)
	}
	return action.CheckDependencies(l.Chart, l.Metadata.Dependencies)
}

func (l loaded) Save(dir string) (string, error) { return chartutil.Save(l.Chart, dir) }

func (l loaded) CRDs() []inprocess.File {
	var out []inprocess.File
	for _, crd := range l.CRDObjects() {
		out = append(out, inprocess.File{Name: crd.Filename, Data: crd.File.Data})
	}
	return out
}

// index implements inprocess.Index.
type index struct{ *repo.IndexFile }

func loadIndex(file string) (inprocess.Index, error) {
	f, err := repo.LoadIndexFile(file)
	return index{f}, err
}

func indexOf(name string, versions []string) inprocess.Index {
	f := repo.NewIndexFile()
	for _, v := range versions {
		f.Entries[name] = append(f.Entries[name], &repo.ChartVersion{Metadata: &chart.Metadata{Name: name, Version: v}})
	}
	f.SortEntries()
	return index{f}
}

func (i index) Find(chart, version string) (string, []string, error) {
	found, err := i.Get(chart, version)
	if err != nil {
		return "", nil, err
	}
	return found.Version, found.URLs, nil
}
