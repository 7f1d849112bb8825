package helm4sdk

import (
	"fmt"
	"io"
	"maps"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	chartcommon "helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/kube"
	"helm.sh/helm/v4/pkg/release"
	"helm.sh/helm/v4/pkg/release/common"
	releasev1 "helm.sh/helm/v4/pkg/release/v1"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/internal/inprocess"
)

// installed implements inprocess.Release.
type installed struct {
	call       *inprocess.Call
	cfg        *action.Configuration
	postRender *postRender
}

// open makes Helm's configuration of one call.
func (s *storages) open(k *inprocess.Call) (inprocess.Release, error) {
	helm := kube.New(k.Getter)
	helm.Namespace = k.Name.Namespace
	helm.SetLogger(k.Log().Handler())
	p := &postRender{}
	releases, err := s.releases(k, p)
	if err != nil {
		return nil, err
	}
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(k.Log().Handler()))
	cfg.RESTClientGetter, cfg.Releases, cfg.KubeClient = k.Getter, releases, &kubeClient{Client: helm, call: k, postRender: p}
	cfg.HookOutputFunc = func(_, _, _ string) io.Writer { return io.Discard }
	return &installed{k, cfg, p}, nil
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
	record := r.Helm.(*releasev1.Release) //nolint:forcetypeassert // recordOf has made it
	record.SetStatus(common.Status(state), description)
	return i.cfg.Releases.Update(record)
}

// strategy is Helm's own: hooks are waited for in any case.
func strategy(w helmclient.Wait) kube.WaitStrategy {
	if w.Ready {
		return kube.StatusWatcherStrategy
	}
	return kube.HookOnlyStrategy
}

func (i *installed) SetManifest(r *inprocess.Record, manifest string) error {
	record := r.Helm.(*releasev1.Release) //nolint:forcetypeassert // as above
	record.Manifest = manifest
	return i.cfg.Releases.Update(record)
}

func (i *installed) Install(r helmclient.Install, ch inprocess.Chart, values map[string]any, replace bool) (*inprocess.Record, error) {
	// Helm applies CRDs by server-side apply, which changes those that exist.
	if r.CRDs == helmclient.CRDCreate && !r.DryRun {
		if err := i.call.CreateCRDs(ch, r); err != nil {
			return nil, err
		}
	}
	a := action.NewInstall(i.cfg)
	a.ReleaseName, a.Namespace = i.call.Name.Release, i.call.Name.Namespace
	a.CreateNamespace = r.CreateNamespace
	a.WaitStrategy, a.WaitForJobs, a.Timeout = strategy(r.Wait), r.Ready && r.Jobs, inprocess.Timeout(r.Wait)
	a.RollbackOnFailure = r.Atomic
	a.SkipCRDs, a.ForceConflicts = true, true
	a.Labels, a.Description = maps.Clone(r.Labels), r.Description
	a.Replace = replace
	i.postRender.begin(i.call, r)
	a.DryRunStrategy = dryRun(r)
	return i.recordOf(a.Run(ch.(loaded).Chart, values)) //nolint:forcetypeassert // this package has loaded it
}

// recordOf returns a new revision. That of a dry run was not stored.
func (i *installed) recordOf(from release.Releaser, err error) (*inprocess.Record, error) {
	i.postRender.record(from)
	return recordOf(from, err)
}

func dryRun(r helmclient.Install) action.DryRunStrategy {
	if r.DryRun {
		return action.DryRunServer
	}
	return action.DryRunNone
}

func (i *installed) Upgrade(r helmclient.Upgrade, ch inprocess.Chart, values map[string]any, last *inprocess.Record) (*inprocess.Record, error) {
	a := action.NewUpgrade(i.cfg) // which applies as the last revision was applied
	a.ForceConflicts = serverSide(last)
	a.Namespace = i.call.Name.Namespace
	a.WaitStrategy, a.WaitForJobs, a.Timeout = strategy(r.Wait), r.Ready && r.Jobs, inprocess.Timeout(r.Wait)
	a.RollbackOnFailure, a.CleanupOnFail, a.MaxHistory = r.Atomic, r.CleanupOnFail, r.MaxHistory
	a.Labels, a.Description = maps.Clone(r.Labels), r.Description
	a.ReuseValues, a.ResetValues, a.ResetThenReuseValues = r.Reuse == helmclient.ReuseValues, r.Reuse == helmclient.ReuseReset, r.Reuse == helmclient.ReuseThen
	i.postRender.begin(i.call, r.Install)
	a.DryRunStrategy = dryRun(r.Install)
	return i.recordOf(a.Run(i.call.Name.Release, ch.(loaded).Chart, values)) //nolint:forcetypeassert // as above
}

func (i *installed) Rollback(r helmclient.Rollback, to *inprocess.Record) error {
	a := action.NewRollback(i.cfg) // which applies as that revision was applied
	a.ForceConflicts = serverSide(to)
	a.Version = to.Revision
	a.WaitStrategy, a.WaitForJobs, a.Timeout = strategy(r.Wait), r.Ready && r.Jobs, inprocess.Timeout(r.Wait)
	return a.Run(i.call.Name.Release)
}

func (i *installed) Uninstall(r helmclient.Uninstall) error {
	a := action.NewUninstall(i.cfg)
	a.KeepHistory, a.Description = r.KeepHistory, r.Description
	a.WaitStrategy, a.Timeout = strategy(r.Wait), inprocess.Timeout(r.Wait)
	_, err := a.Run(i.call.Name.Release)
	return err
}

// template implements inprocess.Version.
func template(k *inprocess.Call, r helmclient.Install, ch inprocess.Chart, values map[string]any) (string, error) {
	a := action.NewInstall(action.NewConfiguration(action.ConfigurationSetLogger(k.Log().Handler())))
	a.ReleaseName, a.Namespace = k.Name.Release, k.Name.Namespace
	a.DryRunStrategy, a.Replace = action.DryRunClient, true
	var err error
	if a.KubeVersion, err = chartcommon.ParseKubeVersion(r.KubeVersion); err != nil {
		return "", err
	}
	rendered, err := a.Run(ch.(loaded).Chart, values) //nolint:forcetypeassert // as above
	if err != nil {
		return "", err
	}
	out := rendered.(*releasev1.Release) //nolint:forcetypeassert // which is what Run makes
	p := postRender{hook: k.PostRenderer(r)}
	changed, err := p.apply(out.Manifest)
	if err != nil {
		return "", err
	}
	manifest := strings.TrimSpace(changed) + "\n"
	for _, hook := range out.Hooks {
		manifest += fmt.Sprintf("---\n# Source: %s\n%s\n", hook.Path, strings.TrimSpace(hook.Manifest))
	}
	return manifest, nil
}
