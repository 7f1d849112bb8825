package kubernetes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// ChartStore keeps the archives of charts that are larger than the 2 MiB that the Manager's store takes.
type ChartStore interface {
	// PutChart stores an archive of a VNF instance. digest is its SHA-256 in hexadecimal. Storing it twice is no error.
	PutChart(ctx context.Context, instanceID, digest string, archive []byte) error
	// Chart returns an archive. The driver checks the digest. After an error it asks the repository.
	Chart(ctx context.Context, instanceID, digest string) ([]byte, error)
	// DeleteCharts removes all archives of an instance, which may have none.
	DeleteCharts(ctx context.Context, instanceID string) error
}

// maxSealedChart bounds an archive in the Manager's store, in bytes.
const maxSealedChart = 2 << 20

// chartKey is the state key of the chart of a release.
func chartKey(name string) string { return "kubernetes/chart/" + name }

// formerChartKey is the state key of the chart that a release had before its package was changed.
func formerChartKey(name string) string { return "kubernetes/former-chart/" + name }

// keptChart is the chart that a release was installed from. Releases do not contain the charts that a chart depends on.
type keptChart struct {
	Source  string `json:"source"` // reference and version of the request
	Version string `json:"version"`
	Digest  string `json:"digest"`            // SHA-256 of the archive, in hexadecimal
	Archive []byte `json:"archive,omitempty"` // empty if it is too large
}

// pulledChart is the chart of a release in a version.
type pulledChart struct{ release, version string }

// chart returns the chart of a release: that of the package, else the archive that is kept with the instance. A chart of a
// repository is pulled when none is kept, or when another client has upgraded the release, now, to another version.
func (w *work) chart(ctx context.Context, r release, now *helmclient.Release) (helmclient.Chart, error) {
	if r.chart.file != "" {
		return helmclient.Chart{Archive: func() (io.ReadCloser, error) { return packaged(r.chart.pkg, r.chart.file) }}, nil
	}
	kept, err := w.keptChart(ctx, r)
	if err != nil {
		return helmclient.Chart{}, err
	}
	if now != nil && now.Chart.Version != "" && now.Chart.Version != kept.Version {
		kept = keptChart{Version: now.Chart.Version}
	}
	archive := kept.Archive
	if kept.Digest != "" {
		archive = w.keptArchive(ctx, r, kept)
	}
	if archive == nil {
		archive = w.pulled[pulledChart{r.name, kept.Version}]
	}
	if archive == nil {
		if archive, err = w.pull(ctx, r, kept.Version); err != nil {
			return helmclient.Chart{}, err
		}
	}
	return helmclient.Chart{Archive: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive)), nil }}, nil
}

// keptChart returns the chart that is kept for the source of a release.
func (w *work) keptChart(ctx context.Context, r release) (keptChart, error) {
	for _, key := range []string{chartKey(r.name), formerChartKey(r.name)} {
		var kept keptChart
		if err := w.op.State().Get(ctx, key, &kept); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
			return kept, err
		}
		if kept.Source == r.chart.String() {
			return kept, nil
		}
	}
	return keptChart{Version: r.chart.version}, nil
}

// keptArchive returns the archive that is kept, nil if it is lost.
func (w *work) keptArchive(ctx context.Context, r release, kept keptChart) []byte {
	archive, err := kept.Archive, error(nil)
	if len(archive) == 0 {
		if w.cfg.Charts == nil {
			return nil
		}
		archive, err = w.cfg.Charts.Chart(ctx, w.op.InstanceID, kept.Digest)
	}
	if err == nil && digest(archive) != kept.Digest {
		err = errors.New("its digest is another one")
	}
	if err != nil {
		w.op.Log.WarnContext(ctx, "the kept archive of a chart is lost: the repository is asked again", "release", r.name, "version", kept.Version, "error", err)
		return nil
	}
	return archive
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// pull reads the archive of a chart from its repository and keeps it with the instance.
func (w *work) pull(ctx context.Context, r release, version string) ([]byte, error) {
	if err := w.ensureRepository(ctx, r); err != nil {
		return nil, err
	}
	archive, err := w.download(ctx, helmclient.Chart{Ref: r.chart.ref, Version: version, Access: r.chart.access})
	if err != nil {
		return nil, err
	}
	data, err := helmclient.CheckArchive(bytes.NewReader(archive))
	if err != nil {
		return nil, err
	}
	meta, err := parseMeta(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", helmclient.ErrInvalidChart, err)
	}
	w.pulled[pulledChart{r.name, meta.Version}] = archive // it may be too large to be kept
	if w.planning {
		return archive, nil
	}
	kept := keptChart{Source: r.chart.String(), Version: meta.Version, Digest: digest(archive)}
	switch {
	case len(archive) <= maxSealedChart:
		kept.Archive = archive
	case w.cfg.Charts != nil:
		if err := w.cfg.Charts.PutChart(ctx, w.op.InstanceID, kept.Digest, archive); err != nil {
			return nil, fmt.Errorf("chart %s %s cannot be kept: %w", meta.Name, meta.Version, err)
		}
	default:
		w.op.Log.WarnContext(ctx, "the chart is too large to be kept: later operations need its repository", "release", r.name,
			"chart", meta.Name, "version", meta.Version, "bytes", len(archive))
	}
	w.op.Log.InfoContext(ctx, "chart pulled", "release", r.name, "chart", meta.Name, "version", meta.Version, "sha256", kept.Digest)
	if err := w.keepFormerChart(ctx, r); err != nil {
		return nil, err
	}
	return archive, w.op.State().Put(ctx, chartKey(r.name), kept)
}

// keepFormerChart keeps the chart of another source that a release has had: the change of the package may be rolled back.
func (w *work) keepFormerChart(ctx context.Context, r release) error {
	var was keptChart
	err := w.op.State().Get(ctx, chartKey(r.name), &was)
	if errors.Is(err, vnflcm.ErrNotFound) || err == nil && was.Source == r.chart.String() {
		return nil
	}
	if err == nil {
		err = w.op.State().Put(ctx, formerChartKey(r.name), was)
	}
	return err
}

func (w *work) download(ctx context.Context, c helmclient.Chart) (archive []byte, err error) {
	dir, err := os.MkdirTemp("", "vnfkit-chart-*")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file, err := w.helm.Pull(ctx, c, dir)
	if err != nil {
		return nil, err
	}
	return os.ReadFile(file) //nolint:gosec // Pull has made it in our directory
}

// forgetCharts removes the kept charts. A store that does not answer does not prevent termination.
func (w *work) forgetCharts(ctx context.Context) error {
	w.deleteCharts(ctx, w.op)
	for _, r := range w.design.releases {
		if err := errors.Join(w.op.State().Delete(ctx, chartKey(r.name)), w.op.State().Delete(ctx, formerChartKey(r.name))); err != nil {
			return err
		}
	}
	return nil
}

func (d *Driver) deleteCharts(ctx context.Context, op *vnflcm.Operation) {
	if d.cfg.Charts == nil {
		return
	}
	if err := d.cfg.Charts.DeleteCharts(ctx, op.InstanceID); err != nil {
		op.Log.WarnContext(ctx, "charts are left in Config.Charts", "error", err)
	}
}
