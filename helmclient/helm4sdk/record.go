package helm4sdk

import (
	"fmt"
	"maps"

	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/release"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
	"github.com/vnfkit/vnfkit/helmclient/internal/systemlabels"
)

// recordOf is a revision of Helm's as package inprocess has it.
func recordOf(from release.Releaser, err error) (*inprocess.Record, error) {
	if err != nil {
		return nil, err
	}
	r, ok := from.(*releasev1.Release)
	if !ok || r == nil {
		return nil, fmt.Errorf("a record of a release has the form %T, which is not that of Helm 3 and 4", from)
	}
	out := &inprocess.Record{Helm: r, Values: func(all bool) (map[string]any, error) { return values(r, all) }, Release: helmclient.Release{
		Name: helmclient.Name{Namespace: r.Namespace, Release: r.Name}, Revision: r.Version, State: helmclient.Unknown,
		Chart: chartInfo(r.Chart), Labels: maps.Clone(r.Labels), Manifest: r.Manifest,
	}}
	maps.DeleteFunc(out.Labels, func(label, _ string) bool { return systemlabels.Has(label) })
	if i := r.Info; i != nil {
		out.State, out.Updated, out.Deleted = helmclient.State(i.Status), i.LastDeployed, i.Deleted
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

func recordsOf(list []release.Releaser, err error) ([]*inprocess.Record, error) {
	var out []*inprocess.Record
	for _, r := range list {
		one, err := recordOf(r, nil)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, err
}

func values(r *releasev1.Release, all bool) (map[string]any, error) {
	if !all {
		return r.Config, nil
	}
	return util.CoalesceValues(r.Chart, r.Config)
}

// serverSide reports whether the objects of a revision were applied by the server.
func serverSide(r *inprocess.Record) bool {
	return r.Helm.(*releasev1.Release).ApplyMethod == string(releasev1.ApplyMethodServerSideApply) //nolint:forcetypeassert // recordOf has made it
}
