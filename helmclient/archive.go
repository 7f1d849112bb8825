package helmclient

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
)

// Limits of a packaged chart. Helm itself has the same limit for the unpacked size (MaxDecompressedChartSize of
// helm.sh/helm/v3/pkg/chart/loader), and no limit for the number of files.
const (
	maxArchiveSize    = 100 << 20
	maxArchiveMembers = 20000
	maxChartFile      = 1 << 20 // of Chart.yaml
)

// CheckArchive reads a packaged chart (.tgz) and returns the content of its Chart.yaml, which it does not parse. It
// returns an ErrInvalidChart for content that no valid chart has: members whose names lead out of the chart's directory
// or mean different files on different systems, links and devices, more than one directory at the top, more than 20000
// members, more than 100 MiB unpacked. The caller limits how much may be read of r. Errors of r are returned unchanged.
//
// Clients call it before they unpack a chart on another machine and before they give a chart to Helm's loader. That
// loader ignores links, and takes the first element of a member's name for the chart's name without checking it.
func CheckArchive(r io.Reader) (chartYAML []byte, err error) {
	source := &faultReader{r: r}
	chartYAML, err = checkArchive(source)
	if source.err != nil {
		return nil, source.err
	}
	return chartYAML, err
}

// faultReader stores the error of the underlying reader, so that it is not reported as a fault of the chart.
type faultReader struct {
	r   io.Reader
	err error
}

func (f *faultReader) Read(p []byte) (int, error) {
	n, err := f.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		f.err = err
	}
	return n, err
}

func badArchive(format string, args ...any) error {
	return fmt.Errorf("%w: archive: %w", ErrInvalidChart, fmt.Errorf(format, args...))
}

func checkArchive(r io.Reader) (chartYAML []byte, err error) {
	unzipped, err := gzip.NewReader(bufio.NewReader(r))
	if err != nil {
		return nil, badArchive("it is no .tgz: %w", err)
	}
	limited := &io.LimitedReader{R: unzipped, N: maxArchiveSize + 1}
	members := tar.NewReader(limited)
	top, size := "", int64(0)
	for n := 0; ; n++ {
		h, err := members.Next()
		switch {
		// The size of a sparse file is not the number of bytes in the archive.
		case limited.N <= 0, err == nil && h.Size > maxArchiveSize-size:
			return nil, badArchive("it has more than %d MiB unpacked", maxArchiveSize>>20)
		case errors.Is(err, io.EOF) && chartYAML == nil:
			return nil, badArchive("it has no Chart.yaml in its directory")
		case errors.Is(err, io.EOF):
			return chartYAML, nil
		case err != nil:
			return nil, badArchive("%w", err)
		case n >= maxArchiveMembers:
			return nil, badArchive("it has more than %d members", maxArchiveMembers)
		case h.Typeflag == tar.TypeXGlobalHeader: // Helm ignores it
			continue
		}
		size += h.Size
		dir, rest, err := member(h)
		switch {
		case err != nil:
			return nil, err
		case top == "":
			top = dir
		case dir != top:
			return nil, badArchive("it has the directories %q and %q at its top: a chart has one", top, dir)
		}
		if rest == "Chart.yaml" {
			if chartYAML != nil || h.Size > maxChartFile {
				return nil, badArchive("it has two Chart.yaml, or one of more than %d MiB", maxChartFile>>20)
			}
			if chartYAML, err = io.ReadAll(members); err != nil {
				return nil, badArchive("Chart.yaml: %w", err)
			}
		}
	}
}

// member splits the name of a member into the directory at the top and the rest.
func member(h *tar.Header) (top, rest string, err error) {
	name := h.Name
	if h.Typeflag == tar.TypeDir {
		name = strings.TrimSuffix(name, "/")
	}
	top, rest, inside := strings.Cut(name, "/")
	switch {
	case !fs.ValidPath(name) || name == "." || misread(name):
		return "", "", badArchive("member %q: its name is not that of a file in the chart's directory", h.Name)
	case h.Typeflag != tar.TypeReg && h.Typeflag != tar.TypeDir:
		return "", "", badArchive("member %q is neither a file nor a directory", h.Name)
	case !inside && h.Typeflag == tar.TypeReg:
		return "", "", badArchive("member %q lies in no directory", h.Name)
	}
	return top, rest, nil
}

// misread reports whether systems differ in which file a name means: separators and drives of Windows, control characters.
func misread(name string) bool {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '\\' || r == ':' {
			return true
		}
	}
	return false
}
