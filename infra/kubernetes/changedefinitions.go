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
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// noteDefinitions adds the definitions that Helm creates from the folder crds of a chart when it installs a release. Helm never deletes or
// changes them.
func (p *packagePlan) noteDefinitions(ctx context.Context, r release, chart helmclient.Chart) error {
	archive, err := chart.Archive()
	if err != nil {
		return err
	}
	defer func() { _ = archive.Close() }()
	files, err := definitionFiles(archive)
	if err != nil {
		return err
	}
	for _, text := range files {
		list, err := objects.Rendered("folder crds", text)
		if err != nil {
			return fmt.Errorf("%w: folder crds: %w", helmclient.ErrInvalidChart, err)
		}
		for _, o := range list {
			ref := objects.RefOf(o)
			there, err := p.objects.Get(ctx, ref)
			if err != nil {
				return err
			}
			if there == nil && ref.Kind == "CustomResourceDefinition" {
				p.Irreversible = append(p.Irreversible, fmt.Sprintf("release %s: %s of the folder crds, which Helm never deletes", r.name, ref))
			}
		}
	}
	return nil
}

// definitionFiles returns the files in the folders crds of a chart and of the charts in it. Helm has accepted the archive.
func definitionFiles(archive io.Reader) (out [][]byte, err error) {
	unzipped, err := gzip.NewReader(archive)
	if err != nil {
		return nil, err
	}
	for members := tar.NewReader(unzipped); ; {
		h, err := members.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		_, inside, _ := strings.Cut(path.Clean(strings.ReplaceAll(h.Name, `\`, "/")), "/")
		parts := strings.Split(inside, "/")
		for len(parts) > 2 && parts[0] == "charts" {
			parts = parts[2:]
		}
		isDefinition := len(parts) > 1 && parts[0] == "crds" && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(inside))
		isChart := len(parts) == 2 && parts[0] == "charts" && path.Ext(inside) == ".tgz"
		if h.Typeflag != tar.TypeReg || !isDefinition && !isChart {
			continue
		}
		text, err := io.ReadAll(members)
		if err != nil {
			return nil, err
		}
		if isDefinition {
			out = append(out, text)
			continue
		}
		below, err := definitionFiles(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		out = append(out, below...)
	}
}
