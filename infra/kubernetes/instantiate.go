package kubernetes

import (
	"context"
	"fmt"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Instantiate implements vnflcm.InfraDriver: it finds the workloads of the VDUs in the rendered charts or the manifests,
// installs the charts or applies the manifests, and waits until all objects are ready.
func (d *Driver) Instantiate(ctx context.Context, op *vnflcm.Operation) error {
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.warnOfIdle(ctx); err != nil {
		return err
	}
	if err := w.checkWorkloads(ctx); err != nil {
		return err
	}
	if err := w.warnOfUnusedValues(ctx); err != nil {
		return err
	}
	if err := w.makeNamespace(ctx); err != nil {
		return err
	}
	return w.make(ctx)
}

// make installs the charts or applies the manifests.
func (w *work) make(ctx context.Context) error {
	first := w.apply
	if w.helm != nil {
		first = w.install
	}
	for _, do := range []func(context.Context) error{first, w.resize, w.await} {
		if err := do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// await is the step that waits until all objects are ready.
func (w *work) await(ctx context.Context) error {
	return w.readyStep(ctx, "await-ready", func(ctx context.Context) error {
		refs, err := w.storedObjects(ctx)
		if err != nil {
			return err
		}
		return w.objects.Await(ctx, refs, w.tell(ctx))
	})
}

// tell reports the progress of a wait.
func (w *work) tell(ctx context.Context) func(helmclient.Progress) {
	return func(p helmclient.Progress) {
		text := fmt.Sprintf("%d/%d ready", p.Ready, p.Total)
		if len(p.Waiting) > 0 {
			text += ", waiting for " + p.Waiting[0].String()
		}
		w.op.Report(ctx, text)
	}
}
