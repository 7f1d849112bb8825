package helmcli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/yaml"

	"github.com/vnfkit/vnfkit/helmclient"
)

// withChart provides a chart on one of the machines and calls act.
func (c *Client) withChart(ctx context.Context, chart helmclient.Chart, act func(m *machine, p providedChart) error) error {
	s, err := prepare(chart)
	if err != nil {
		return err
	}
	return c.try(ctx, func(m *machine) error {
		p, err := c.provideChart(ctx, m, s)
		defer c.discard(ctx, m, p.temp)
		if err != nil {
			return err
		}
		return act(m, p)
	})
}

// clusterVersion returns the version of the cluster, "" if kubectl does not give it: then helm renders for the newest version that
// it knows.
func (m *machine) clusterVersion(ctx context.Context) string {
	out, err := m.run(ctx, command{argv: []string{"kubectl", "get", "--raw=/version", "--request-timeout=10s"}})
	var info struct {
		GitVersion string `json:"gitVersion"`
	}
	if err != nil || json.Unmarshal(out, &info) != nil {
		return ""
	}
	if _, err := version.ParseGeneric(info.GitVersion); err != nil {
		return ""
	}
	return info.GitVersion
}

// Template implements helmclient.Releases.
func (c *Client) Template(ctx context.Context, r helmclient.Install) (string, error) {
	n, err := c.name(r.Name)
	if err != nil {
		return "", err
	}
	if _, err := installArguments(r); err != nil {
		return "", err
	}
	if _, err := version.ParseGeneric(r.KubeVersion); err != nil && r.KubeVersion != "" {
		return "", fmt.Errorf("%w: KubeVersion: %q is no version such as 1.34.2", helmclient.ErrInvalid, r.KubeVersion)
	}
	v, err := mergeValues(r.Values)
	if err != nil {
		return "", err
	}
	var manifest []byte
	err = c.withChart(ctx, r.Chart, func(m *machine, p providedChart) (err error) {
		run := command{argv: append([]string{"helm", "template", n.Release, p.ref, "--namespace=" + n.Namespace}, append(p.args, v.args...)...), files: true}
		if kubernetes := cmp.Or(r.KubeVersion, m.clusterVersion(ctx)); kubernetes != "" {
			run.argv = append(run.argv, "--kube-version="+kubernetes)
		}
		if v.document != nil {
			run.argv = append(run.argv, "--values=-")
			run.stdin = v.reader()
		}
		manifest, err = m.run(ctx, run)
		return err
	})
	if err == nil && r.PostRender != nil {
		manifest, err = r.PostRender(ctx, manifest)
	}
	return string(manifest), err
}

// Show implements helmclient.Charts.
func (c *Client) Show(ctx context.Context, chart helmclient.Chart) (*helmclient.ChartInfo, error) {
	var info *helmclient.ChartInfo
	err := c.withChart(ctx, chart, func(m *machine, p providedChart) error {
		out, err := m.run(ctx, command{argv: append([]string{"helm", "show", "chart", p.ref}, p.args...), files: true})
		if err == nil {
			info, err = parseChart(out)
		}
		return err
	})
	return info, err
}

func parseChart(out []byte) (*helmclient.ChartInfo, error) {
	var chart struct {
		Name        string `json:"name"`
		Version     string `json:"version"`
		AppVersion  any    `json:"appVersion"`
		Description string `json:"description"`
	}
	if err := yaml.Unmarshal(out, &chart); err != nil || chart.Name == "" {
		return nil, fmt.Errorf("%w: Chart.yaml cannot be read", helmclient.ErrInvalidChart)
	}
	info := &helmclient.ChartInfo{Name: chart.Name, Version: chart.Version, Description: chart.Description}
	if chart.AppVersion != nil {
		info.AppVersion = fmt.Sprint(chart.AppVersion)
	}
	return info, nil
}

// pull puts a chart into directory $2 and prints it. $1 is a reference for helm, or a directory or archive on the
// machine.
const pull = `s=$1 t=$2; shift 2; if [ -d "$s" ]; then helm package "$s" --destination "$t" >/dev/null || exit; ` +
	`elif [ -f "$s" ]; then cp "$s" "$t/chart.tgz" || exit 74; else helm pull "$s" --destination "$t" "$@" >/dev/null || exit; fi; ` +
	`for f in "$t"/*.tgz; do cat "$f" || exit 74; exit 0; done; exit 74`

// Pull implements helmclient.Charts. The archive is called name-version.tgz.
func (c *Client) Pull(ctx context.Context, chart helmclient.Chart, dir string) (string, error) {
	var data []byte
	var info *helmclient.ChartInfo
	err := c.withChart(ctx, chart, func(m *machine, p providedChart) (err error) {
		temp, err := m.temporary(ctx)
		defer c.discard(ctx, m, temp)
		if err != nil {
			return err
		}
		if data, err = m.run(ctx, command{argv: append([]string{"/bin/sh", "-c", pull, "sh", p.ref, temp}, p.args...), files: true}); err != nil {
			return err
		}
		meta, err := helmclient.CheckArchive(bytes.NewReader(data))
		if err == nil {
			info, err = parseChart(meta)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return save(data, info, dir)
}

// save writes an archive completely or not at all. It derives the name of the file from the metadata of the chart.
func save(data []byte, info *helmclient.ChartInfo, dir string) (name string, err error) {
	base := info.Name + "-" + info.Version + ".tgz"
	if strings.ContainsAny(base, "/\\\x00") || strings.HasPrefix(base, ".") {
		return "", fmt.Errorf("%w: its name and version %q make no file name", helmclient.ErrInvalidChart, base)
	}
	f, err := os.CreateTemp(dir, ".chart-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if _, err = f.Write(data); err != nil {
		return "", errors.Join(err, f.Close())
	}
	if err = f.Close(); err != nil {
		return "", err
	}
	name = filepath.Join(dir, base)
	return name, os.Rename(f.Name(), name)
}
