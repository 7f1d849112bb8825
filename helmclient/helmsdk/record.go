package helmsdk

import (
	"maps"

	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/release"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
	"github.com/vnfkit/vnfkit/helmclient/internal/systemlabels"
)

// recordOf is a revision of Helm's as package inprocess has it.
func recordOf(r *release.Release, err error) (*inprocess.Record, error) {
	if r == nil || err != nil {
		return nil, err
	}
	out := &inprocess.Record{Helm: r, Values: func(all bool) (map[string]any, error) { return values(r, all) }, Release: helmclient.Release{
		Name: helmclient.Name{Namespace: r.Namespace, Release: r.Name}, Revision: r.Version, State: helmclient.Unknown,
		Chart: chartInfo(r.Chart), Labels: maps.Clone(r.Labels), Manifest: r.Manifest,
	}}
	maps.DeleteFunc(out.Labels, func(label, _ string) bool { return systemlabels.Has(label) })
	if i := r.Info; i != nil {
		out.State, out.Updated, out.Deleted = helmclient.State(i.Status), i.LastDeployed.Time, i.Deleted.Time
		out.Description, out.Notes = i.Description, i.Notes
	}
	for _, h := range r.Hooks {
		hook := helmclient.Hook{Manifest: h.Manifest}
		for _, e := range h.Events {
			hook.Events = append(hook.Events, string(e))
		}
		out.Hooks = append(out.Hooks, hook)
	}
	return out, nil
}

func recordsOf(list []*release.Release, err error) ([]*inprocess.Record, error) {
	var out []*inprocess.Record
	for _, r := range list {
		one, _ := recordOf(r, nil)
		out = append(out, one)
	}
	return out, err
}

func values(r *release.Release, all bool) (out map[string]any, err error) {
	out = r.Config
	if all {
		out, err = chartutil.CoalesceValues(r.Chart, r.Config)
	}
	return out, err
}
