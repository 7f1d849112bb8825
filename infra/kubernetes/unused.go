package kubernetes

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// warnOfUnusedValues warns of values that have no effect, because their chart does not know their names. A chart that cannot be read
// gets no warning here: Helm reports its fault.
func (w *work) warnOfUnusedValues(ctx context.Context) error {
	if w.helm == nil {
		return nil
	}
	return vnflcm.Do(ctx, w.op, "check-values", "", func(ctx context.Context) error {
		for _, r := range w.design.releases {
			names, err := w.unusedValues(ctx, r)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err != nil {
				w.op.Log.DebugContext(ctx, "the names of values are not checked", "release", r.name, "error", err)
			}
			if len(names) > 0 {
				w.op.Warn(ctx, fmt.Sprintf("release %s: values without effect, because the chart does not know them: %s", r.name,
					strings.Join(names[:min(len(names), shownObjects)], ", ")))
			}
		}
		return nil
	})
}

// unusedValues returns the names of given values, at the top, that occur in no file of the chart. Names further below may be keys of
// a map that the chart takes as a whole.
func (w *work) unusedValues(ctx context.Context, r release) (names []string, err error) {
	given, err := w.givenValues(r)
	if err != nil || len(given) == 0 {
		return nil, err
	}
	chart, err := w.chart(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	archive, err := chart.Archive()
	if err != nil {
		return nil, err
	}
	text := &chartText{left: maxChartText}
	if err := errors.Join(text.read(archive), archive.Close()); err != nil || text.whole {
		return nil, err
	}
	for _, name := range sortedKeys(given) {
		if name != "global" && !text.contains(name) && !strings.Contains(fmt.Sprint(given), "Values."+name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// maxChartText bounds the files of a chart that are read, in bytes.
const maxChartText = 64 << 20

// chartText is the text of the files of a chart and of the charts that it depends on, without its guides.
type chartText struct {
	files [][]byte
	left  int64
	whole bool // a template uses all values at once, or a value whose name it computes
}

var (
	anyValues  = regexp.MustCompile(`\bValues\b`)
	namedValue = regexp.MustCompile(`\bValues(\.[A-Za-z_]| +"[^"]+")`)
)

// read adds the files of an archive.
func (c *chartText) read(packed io.Reader) error {
	zipped, err := gzip.NewReader(packed)
	if err != nil {
		return err
	}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(archive, c.left+1))
		if c.left -= int64(len(data)); err == nil && c.left < 0 {
			err = fmt.Errorf("the chart has more than %d MiB", maxChartText>>20)
		}
		if err == nil {
			err = c.add(header.Name, data)
		}
		if err != nil {
			return err
		}
	}
}

func (c *chartText) add(name string, data []byte) error {
	switch path.Ext(name) {
	case ".md":
		return nil
	case ".tgz":
		if path.Base(path.Dir(name)) == "charts" {
			return c.read(bytes.NewReader(data))
		}
	}
	c.files = append(c.files, []byte(name), data)
	c.whole = c.whole || len(anyValues.FindAll(data, -1)) != len(namedValue.FindAll(data, -1)) && strings.Contains(name, "/templates/")
	return nil
}

func (c *chartText) contains(name string) bool {
	for _, text := range c.files {
		if bytes.Contains(text, []byte(name)) {
			return true
		}
	}
	return false
}
