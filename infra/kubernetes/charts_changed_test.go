package kubernetes_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing/fstest"

	"github.com/vnfkit/vnfkit/internal/chartcases"
)

// chartVersion is the line of Chart.yaml with the version.
var chartVersion = regexp.MustCompile(`(?m)^version:.*$`)

const (
	addedName     = "templates/vnfkit-added.yaml"
	addedTemplate = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: vnfkit-added}\n"
)

// changeOther changes the package to one with another version of the chart, which has one object more, and pods that run on.
func (l *lab) changeOther(files map[string][]byte) error {
	l.t.Helper()
	newer := maps.Clone(files)
	archive := newer[""]
	if archive != nil {
		m := unpacked(l.t, archive)
		if m == nil {
			return errors.New("the archive has links")
		}
		for name, text := range m {
			if top, isChart := strings.CutSuffix(name, "/Chart.yaml"); isChart && !strings.Contains(top, "/") {
				m[name], m[top+"/"+addedName] = chartVersion.ReplaceAllString(text, "version: 99.0.0"), addedTemplate
			}
		}
		archive = m.pack(l.t)
	} else {
		newer["Chart.yaml"] = chartVersion.ReplaceAll(newer["Chart.yaml"], []byte("version: 99.0.0"))
		newer[addedName] = []byte(addedTemplate)
	}
	clear(l.newer)
	for name, f := range chartcases.Package(newer) {
		l.newer[name] = &fstest.MapFile{Data: bytes.ReplaceAll(f.Data, []byte(chartcases.VNFD), []byte(newVNFD))}
	}
	if archive != nil {
		delete(l.newer, chartcases.Path)
		l.newer[chartcases.Path+".tgz"] = &fstest.MapFile{Data: archive}
	}
	if err := l.end(l.change(`{}`)); err != nil {
		return err
	}
	for _, name := range l.objects("odd", "configmaps") {
		if name == "configmaps/vnfkit-added" {
			return nil
		}
	}
	return fmt.Errorf("the object of the new chart is missing: %v", l.objects("odd", "configmaps"))
}

// filesOf returns the files of a chart directory, or an archive under the name "".
func filesOf(path string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !entry.Type().IsRegular() {
			return err
		}
		inside, err := filepath.Rel(path, name)
		if err != nil {
			return err
		}
		f, err := os.Open(name) //nolint:gosec // of the folder that VNFKIT_CHARTS names
		if err != nil {
			return err
		}
		data, err := io.ReadAll(io.LimitReader(f, 100<<20))
		if inside == "." {
			inside = ""
		}
		files[filepath.ToSlash(inside)] = data
		return errors.Join(err, f.Close())
	})
	return files, err
}
