package helmclient

import (
	"archive/tar"
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"
)

// Limits of a packaged chart. Helm itself has the same limit for the unpacked size (MaxDecompressedChartSize of
// helm.sh/helm/v3/pkg/chart/loader), and no limit for the number of files.
const (
	maxArchiveSize    = 100 << 20
	maxArchiveMembers = 20000
	maxChartFile      = 1 << 20 // of Chart.yaml
)

// CheckArchive reads a packaged chart (.tgz) and returns the content of its Chart.yaml, which it does not parse. It finds the
// members as Helm's loader does: without the first element of their names, whatever that is, and with links as empty files.
// It returns an ErrInvalidChart for what that loader refuses, such as names that lead out of the chart's directory, and for
// devices, control characters in names, a Chart.yaml that occurs twice or is a link, more than 20000 members, more than
// 100 MiB unpacked. The caller limits how much may be read of r. Errors of r are returned unchanged.
//
// Clients call CheckArchive before they give a chart to Helm. They never unpack an archive into files.
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
	size := int64(0)
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
		name, err := member(h)
		if err != nil {
			return nil, err
		}
		if name == "Chart.yaml" {
			if chartYAML != nil || h.Size > maxChartFile || h.Typeflag != tar.TypeReg {
				return nil, badArchive("it has two Chart.yaml, or one that is a link or of more than %d MiB", maxChartFile>>20)
			}
			if chartYAML, err = io.ReadAll(members); err != nil {
				return nil, badArchive("Chart.yaml: %w", err)
			}
		}
	}
}

// member returns the path of a member in the chart, "" for a directory, which Helm's loader passes over.
func member(h *tar.Header) (string, error) {
	switch h.Typeflag {
	case tar.TypeDir:
		return "", nil
	case tar.TypeReg, tar.TypeLink, tar.TypeSymlink:
	default:
		return "", badArchive("member %q is neither a file nor a directory nor a link", h.Name)
	}
	separator := "/"
	if strings.Contains(h.Name, `\`) { // packed on Windows
		separator = `\`
	}
	top, inside, _ := strings.Cut(h.Name, separator)
	inside = path.Clean(strings.ReplaceAll(inside, separator, "/"))
	switch {
	case inside == ".":
		return "", badArchive("member %q lies in no directory", h.Name)
	case top == ".." || top == "Chart.yaml" || !fs.ValidPath(inside) || strings.HasPrefix(inside, "..") || drive.MatchString(inside) || strings.ContainsFunc(h.Name, unicode.IsControl):
		return "", badArchive("member %q: its name is not that of a file in the chart's directory", h.Name)
	}
	return inside, nil
}

// drive begins paths of Windows, which Helm refuses.
var drive = regexp.MustCompile(`^[a-zA-Z]:/`)
