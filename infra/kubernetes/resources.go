package kubernetes

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Keys of the metadata of the VNF.
const (
	metaReleases  = "helm_releases" // JSON: name, revision, state, chart and its version, of each release
	metaResources = "resources"     // JSON: the objects of the VNF
	metaRelease   = "release_name"  // of version 2 of Tacker's API, which has one release
)

// shownRelease is a release in the metadata of the instance.
type shownRelease struct {
	Name     string `json:"name"`
	Revision int    `json:"revision"`
	State    string `json:"state"`
	Chart    string `json:"chart"`
	Version  string `json:"version"`
}

// Resources implements vnflcm.InfraDriver: the VNFCs are the pods, the metadata name the objects and the releases. The VNFCs of a stopped VNF
// are those of the pods that it had.
// NodePorts are the node ports of the Services of the manifests and charts, by namespace, service, name of the port,
// and number.
func (d *Driver) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	defer w.close()
	refs, err := w.storedObjects(ctx)
	if err != nil || len(refs) == 0 {
		return vnflcm.Resources{}, err
	}
	return w.resources(ctx, refs)
}

// resources returns what the VNF with these objects consists of.
func (w *work) resources(ctx context.Context, refs []objects.Ref) (vnflcm.Resources, error) {
	pods, err := w.objects.Pods(ctx, refs)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	pods = slices.DeleteFunc(pods, func(p objects.Pod) bool { return p.Leaving || p.Finished() })
	vnfcs, unmapped := w.vnfcs(pods)
	for _, p := range unmapped {
		w.op.Log.WarnContext(ctx, "a pod belongs to no VDU: give vdu_mapping, or the label "+labelVDU, "namespace", p.Namespace, "pod", p.Name,
			"workload", p.Top.String())
	}
	ports, err := w.nodePorts(ctx, refs)
	if err != nil {
		return vnflcm.Resources{}, err
	}
	out := vnflcm.Resources{VNFCs: w.withStopped(vnfcs), NodePorts: ports, Metadata: map[string]string{metaNamespace: w.design.namespace}}
	err = errors.Join(w.showReleases(ctx, out.Metadata), show(out.Metadata, metaResources, refs))
	return out, err
}

func (w *work) showReleases(ctx context.Context, metadata map[string]string) error {
	var list []shownRelease
	for _, r := range w.design.releases {
		now, err := w.find(ctx, r.name)
		if err != nil {
			return err
		}
		if now != nil {
			list = append(list, shownRelease{r.name, now.Revision, string(now.State), now.Chart.Name, now.Chart.Version})
		}
	}
	if len(list) == 0 {
		return nil
	}
	if w.design.version2 {
		metadata[metaRelease] = list[0].Name
	}
	return show(metadata, metaReleases, list)
}

func show(metadata map[string]string, key string, value any) error {
	data, err := json.Marshal(value)
	metadata[key] = string(data)
	return err
}
