package helmsdk

import (
	"maps"
	"slices"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage/driver"

	"github.com/vnfkit/vnfkit/helmclient"
)

// told is a record of Helm as helmclient has it.
func told(r *release.Release) *helmclient.Release {
	if r == nil {
		return nil
	}
	out := &helmclient.Release{
		Name:     helmclient.Name{Namespace: r.Namespace, Release: r.Name},
		Revision: r.Version,
		State:    helmclient.Unknown,
		Chart:    chartInfo(r.Chart),
		Labels:   maps.Clone(r.Labels),
		Manifest: r.Manifest,
	}
	maps.DeleteFunc(out.Labels, func(key, _ string) bool { return slices.Contains(driver.GetSystemLabels(), key) })
	if r.Info != nil {
		out.State = helmclient.State(r.Info.Status)
		out.Updated = r.Info.LastDeployed.Time
		out.Description = r.Info.Description
		out.Notes = r.Info.Notes
	}
	return out
}

func chartInfo(c *chart.Chart) helmclient.ChartInfo {
	if c == nil || c.Metadata == nil {
		return helmclient.ChartInfo{}
	}
	m := c.Metadata
	return helmclient.ChartInfo{Name: m.Name, Version: m.Version, AppVersion: m.AppVersion, Description: m.Description}
}
