package kubernetes

import (
	"context"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// vdusKey is the state key of the workloads of VDUs. They are found once: the VNFCs of an instance stay those of their VDUs when
// the rules change.
const vdusKey = "kubernetes/vdus"

// readVDUs reads the workloads of the VDUs.
func (w *work) readVDUs(ctx context.Context) error {
	err := w.op.State().Get(ctx, vdusKey, &w.vdus)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return nil
	}
	return err
}

func (w *work) storeVDUs(ctx context.Context, found []vduWorkload) error {
	w.vdus = found
	return w.op.State().Put(ctx, vdusKey, w.vdus)
}

// checkWorkloads is the step that finds the workloads of the VDUs before anything is made.
func (w *work) checkWorkloads(ctx context.Context) error {
	return w.readyStep(ctx, "check-workloads", func(ctx context.Context) error {
		found, err := w.findVDUs(ctx)
		if err != nil {
			return fmt.Errorf("nothing was made: %w", err)
		}
		if found == nil {
			return nil
		}
		return w.storeVDUs(ctx, found)
	})
}

// findVDUs finds the workloads of the VDUs in the manifests, and warns of VDUs without one. It returns nil if the charts cannot be
// rendered.
func (w *work) findVDUs(ctx context.Context) ([]vduWorkload, error) {
	all, rendered, err := w.rendered(ctx)
	if err != nil || !rendered {
		return nil, err
	}
	found, warnings, err := w.design.findVDUs(w.op.Flavour, all)
	for _, text := range warnings {
		w.op.Warn(ctx, text)
	}
	return found, err
}

// keepVDUs stores the workloads of the VDUs of releases that were installed: charts can generate names. A VDU without a workload is
// no fault any more.
func (w *work) keepVDUs(ctx context.Context, all []workload) error {
	if w.op.Kind != vnflcm.OpInstantiate {
		return nil
	}
	found, warnings, err := w.design.findVDUs(w.op.Flavour, all)
	if w.vdus == nil { // the charts could not be rendered before
		for _, text := range warnings {
			w.op.Warn(ctx, text)
		}
		if err != nil {
			w.op.Warn(ctx, err.Error())
		}
	}
	return w.storeVDUs(ctx, found)
}

// rendered returns the workloads of the manifests, or of the charts as they will be installed. It returns false if a chart cannot be
// rendered or its objects cannot be read without an installation, which may succeed nevertheless: the installation has a cluster.
func (w *work) rendered(ctx context.Context) (all []workload, ok bool, err error) {
	if w.helm == nil {
		objs, err := w.manifests(ctx)
		return workloadsOf("", objs, ""), err == nil, err
	}
	for _, r := range w.design.releases {
		objs, err := w.renderNew(ctx, r)
		if why, unrendered := errors.AsType[*unrenderedError](err); unrendered && ctx.Err() == nil {
			w.op.Log.InfoContext(ctx, "the workloads of VDUs are found after the installation", "release", r.name, "reason", why)
			return nil, false, nil
		}
		if err != nil {
			return nil, false, fmt.Errorf("release %s: %w", r.name, err)
		}
		all = append(all, workloadsOf(r.name, objs, w.design.namespace)...)
	}
	return all, true, nil
}

// unrenderedError says that a chart cannot be rendered without an installation.
type unrenderedError struct{ error }

// renderNew returns the objects of a release that an earlier attempt has installed, else of its chart; while the package changes, of the new
// chart.
func (w *work) renderNew(ctx context.Context, r release) ([]*objects.Object, error) {
	now, err := w.find(ctx, r.name)
	if err != nil {
		return nil, err
	}
	var text string
	if now != nil && now.State != helmclient.Uninstalled && w.old == nil {
		text, err = w.helm.Manifest(ctx, now.Name, 0)
	} else {
		var request helmclient.Install
		if request, err = w.request(ctx, r, nil); err != nil {
			return nil, err
		}
		request.PostRender = nil
		if text, err = w.helm.Template(ctx, request); err != nil {
			return nil, &unrenderedError{err}
		}
	}
	if err != nil {
		return nil, err
	}
	objs, err := objects.Rendered("rendered manifest", []byte(text))
	if err != nil {
		return nil, &unrenderedError{err}
	}
	return objs, nil
}
