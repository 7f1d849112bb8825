package helmsdk

import (
	"fmt"
	"io"
	"maps"
	"strings"

	"helm.sh/helm/v3/pkg/action"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/kube"
	"helm.sh/helm/v3/pkg/release"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// installed implements inprocess.Release.
type installed struct {
	call *inprocess.Call
	cfg  *action.Configuration
}

// open makes Helm's configuration of one call.
func (s *storages) open(k *inprocess.Call) (inprocess.Release, error) {
	helm := kube.New(k.Getter)
	helm.Namespace, helm.Log = k.Name.Namespace, k.Debug
	releases, err := s.releases(k)
	if err != nil {
		return nil, err
	}
	return &installed{k, &action.Configuration{
		RESTClientGetter: k.Getter, Releases: releases, Log: k.Debug, KubeClient: &kubeClient{Client: helm, call: k},
		HookOutputFunc: func(_, _, _ string) io.Writer { return io.Discard },
	}}, nil
}

func (i *installed) Reachable() error { return i.cfg.KubeClient.IsReachable() }

func (i *installed) Last() (*inprocess.Record, error) {
	return recordOf(i.cfg.Releases.Last(i.call.Name.Release))
}

func (i *installed) Get(revision int) (*inprocess.Record, error) {
	return recordOf(i.cfg.Releases.Get(i.call.Name.Release, revision))
}

func (i *installed) History() ([]*inprocess.Record, error) {
	return recordsOf(i.cfg.Releases.History(i.call.Name.Release))
}

func (i *installed) List() ([]*inprocess.Record, error) {
	return recordsOf(i.cfg.Releases.ListReleases())
}

func (i *installed) Update(r *inprocess.Record, state helmclient.State, description string) error {
	r.State, r.Description = state, description
	record := r.Helm.(*release.Release) //nolint:forcetypeassert // recordOf has made it
	record.SetStatus(release.Status(state), description)
	return i.cfg.Releases.Update(record)
}

func (i *installed) SetManifest(r *inprocess.Record, manifest string) error {
	record := r.Helm.(*release.Release) //nolint:forcetypeassert // as above
	record.Manifest = manifest
	return i.cfg.Releases.Update(record)
}

func (i *installed) Install(r helmclient.Install, ch inprocess.Chart, values map[string]any, replace bool) (*inprocess.Record, error) {
	a := action.NewInstall(i.cfg)
	a.ReleaseName, a.Namespace = i.call.Name.Release, i.call.Name.Namespace
	a.CreateNamespace = r.CreateNamespace
	a.Wait, a.WaitForJobs, a.Timeout = r.Ready, r.Ready && r.Jobs, inprocess.Timeout(r.Wait)
	a.Atomic = r.Atomic
	a.SkipCRDs = r.CRDs != helmclient.CRDCreate
	a.Labels, a.Description = maps.Clone(r.Labels), r.Description
	a.Replace = replace
	if p := i.call.PostRenderer(r); p != nil {
		a.PostRenderer = p
	}
	if r.DryRun {
		a.DryRun, a.DryRunOption = true, "server"
	}
	return recordOf(a.Run(ch.(loaded).Chart, values)) //nolint:forcetypeassert // this package has loaded it
}

func (i *installed) Upgrade(r helmclient.Upgrade, ch inprocess.Chart, values map[string]any, _ *inprocess.Record) (*inprocess.Record, error) {
	a := action.NewUpgrade(i.cfg)
	a.Namespace = i.call.Name.Namespace
	a.Wait, a.WaitForJobs, a.Timeout = r.Ready, r.Ready && r.Jobs, inprocess.Timeout(r.Wait)
	a.Atomic, a.CleanupOnFail, a.MaxHistory = r.Atomic, r.CleanupOnFail, r.MaxHistory
	a.Labels, a.Description = maps.Clone(r.Labels), r.Description
	a.ReuseValues, a.ResetValues, a.ResetThenReuseValues = r.Reuse == helmclient.ReuseValues, r.Reuse == helmclient.ReuseReset, r.Reuse == helmclient.ReuseThen
	if p := i.call.PostRenderer(r.Install); p != nil {
		a.PostRenderer = p
	}
	if r.DryRun {
		a.DryRun, a.DryRunOption = true, "server"
	}
	return recordOf(a.Run(i.call.Name.Release, ch.(loaded).Chart, values)) //nolint:forcetypeassert // as above
}

func (i *installed) Rollback(r helmclient.Rollback, to *inprocess.Record) error {
	a := action.NewRollback(i.cfg)
	a.Version = to.Revision
	a.Wait, a.WaitForJobs, a.Timeout = r.Ready, r.Ready && r.Jobs, inprocess.Timeout(r.Wait)
	return a.Run(i.call.Name.Release)
}

func (i *installed) Uninstall(r helmclient.Uninstall) error {
	a := action.NewUninstall(i.cfg)
	a.KeepHistory, a.Description = r.KeepHistory, r.Description
	a.Wait, a.Timeout = r.Ready, inprocess.Timeout(r.Wait)
	_, err := a.Run(i.call.Name.Release)
	return err
}

// template implements inprocess.Version.
func template(k *inprocess.Call, r helmclient.Install, ch inprocess.Chart, values map[string]any) (string, error) {
	a := action.NewInstall(&action.Configuration{Log: k.Debug})
	a.ReleaseName, a.Namespace = k.Name.Release, k.Name.Namespace
	a.DryRun, a.ClientOnly, a.Replace = true, true, true
	var err error
	if a.KubeVersion, err = chartutil.ParseKubeVersion(r.KubeVersion); err != nil {
		return "", err
	}
	if p := k.PostRenderer(r); p != nil {
		a.PostRenderer = p
	}
	out, err := a.Run(ch.(loaded).Chart, values) //nolint:forcetypeassert // as above
	if err != nil {
		return "", err
	}
	manifest := strings.TrimSpace(out.Manifest) + "\n"
	for _, hook := range out.Hooks {
		manifest += fmt.Sprintf("---\n# Source: %s\n%s\n", hook.Path, strings.TrimSpace(hook.Manifest))
	}
	return manifest, nil
}
