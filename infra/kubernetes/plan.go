package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Plan implements vnflcm.InfraDriver. It reads the package and the request, and checks on the cluster that no other
// client has releases with the names of this VNF.
func (d *Driver) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	change, err := plannedChange(op)
	design, faults := d.readChecked(ctx, op)
	if err := errors.Join(err, faults); err != nil {
		return change, err
	}
	w, err := d.connect(ctx, op, design)
	if err != nil {
		return change, err
	}
	defer w.close()
	switch op.Kind {
	case vnflcm.OpInstantiate:
		if err = errors.Join(w.checkNames(ctx), w.checkManifests(ctx)); err == nil {
			err = w.planWorkloads(ctx)
		}
	case vnflcm.OpScale:
		err = w.checkScale(ctx)
	case vnflcm.OpOperate:
		err = w.checkStop(ctx)
	}
	return change, err
}

// readChecked reads a request, and reports every fault that shows without a look at the cluster.
func (d *Driver) readChecked(ctx context.Context, op *vnflcm.Operation) (*design, error) {
	design, err := read(op)
	err = errors.Join(err, kubeaccess.Check(ctx, op.VIM, d.access(op)))
	if design == nil {
		return nil, err
	}
	for _, name := range design.unknown {
		op.Log.WarnContext(ctx, "unknown attribute has no effect", "attribute", "additionalParams."+name)
	}
	if design.byMCIOPs {
		warnOfScripts(ctx, op)
	}
	err = errors.Join(err, d.checkHelm(op, design), op.CheckAddresses(repositoryAddresses, d.cfg.Allow.CheckHost))
	if op.Kind == vnflcm.OpInstantiate || op.Kind == vnflcm.OpChangeVnfPkg {
		err = errors.Join(err, design.syntax.err())
	}
	return design, err
}

func (d *Driver) checkHelm(op *vnflcm.Operation, design *design) error {
	if !design.charts(op.VIM) && !design.byMCIOPs {
		return nil
	}
	_, _, err := d.byCLI(op.VIM)
	return err
}

// checkNames finds releases of other clients.
func (w *work) checkNames(ctx context.Context) error {
	var list []error
	for _, r := range w.design.releases {
		_, err := w.find(ctx, r.name)
		if errors.Is(err, ErrForeignRelease) {
			err = errors.Join(&vnflcm.ParamError{Path: w.design.namePath(r), Value: r.name, Reason: "is the name of a release in namespace " +
				w.design.namespace + " that was not made for this VNF instance"}, err)
		}
		list = append(list, err)
	}
	return errors.Join(list...)
}

// namePath is the attribute that the name of a release comes from.
func (d *design) namePath(r release) string {
	if d.version2 || d.byMCIOPs {
		return "additionalParams." + r.path
	}
	return "additionalParams." + r.path + ".helmreleasename"
}

// planWorkloads refuses a request whose VDUs have no workloads, if the rendering needs neither a machine nor a repository. Other
// charts are rendered by the operation, before it makes anything.
func (w *work) planWorkloads(ctx context.Context) error {
	if _, cli, err := w.byCLI(w.op.VIM); w.helm != nil && (cli || err != nil) || slices.ContainsFunc(w.design.releases, func(r release) bool { return r.chart.file == "" }) {
		return err
	}
	all, rendered, err := w.rendered(ctx)
	if err != nil || !rendered {
		return err
	}
	_, _, err = w.design.findVDUs(w.op.Flavour, all)
	return err
}

// checkScale checks that the VDUs of the operation can be scaled.
func (w *work) checkScale(ctx context.Context) error {
	refs, err := w.storedObjects(ctx)
	if err != nil {
		return err
	}
	found := w.workloads(refs)
	var list []error
	for _, id := range w.op.Flavour.VDUsOf(w.op.Scale.AspectID) {
		if w.design.vdus[id].value != "" {
			continue
		}
		if _, ok := found[id]; !ok {
			list = append(list, &vnflcm.ParamError{Path: "aspectId", Value: w.op.Scale.AspectID, Reason: fmt.Sprintf(
				"VDU %s is neither counted by a value of a chart (helm_replica_values, helm_value_names) nor known as one workload with replicas (%s)", id, w.knownAs(id))})
		}
	}
	return errors.Join(list...)
}

// knownAs says which workloads a VDU has, for a message.
func (w *work) knownAs(vduID string) string {
	var names []string
	for _, v := range w.vdus {
		if v.VDU == vduID {
			names = append(names, v.Workload.String())
		}
	}
	if len(names) == 0 {
		return "vdu_mapping names it, or mcio_identification_data of the VNFD, or its name or labels show the VDU"
	}
	return "but as " + strings.Join(names, ", ")
}

func plannedChange(op *vnflcm.Operation) (vnflcm.Change, error) {
	switch op.Kind {
	case vnflcm.OpHeal:
		return vnflcm.Change{Replaced: op.HealTargets()}, nil
	case vnflcm.OpTerminate:
		return vnflcm.Change{Removed: op.VNFCs}, nil
	case vnflcm.OpOperate:
		return vnflcm.Change{}, nil
	}
	want, err := op.Instances()
	if err != nil {
		return vnflcm.Change{}, err
	}
	var change vnflcm.Change
	for _, v := range op.Flavour.VDUs {
		have := slices.DeleteFunc(slices.Clone(op.VNFCs), func(c vnflcm.VNFC) bool { return c.VDU != v.ID })
		slices.SortFunc(have, newestFirst(op.VNFCs))
		if n := len(have) - want[v.ID]; n > 0 && scaled(op, v.ID) {
			change.Removed = append(change.Removed, have[:n]...)
		}
		for range want[v.ID] - len(have) {
			change.Added = append(change.Added, vnflcm.VNFC{VDU: v.ID, Aspect: aspectOf(op.Flavour, v.ID)})
		}
	}
	return change, nil
}

// scaled reports whether a scaling operation changes a VDU. Other VDUs may have more pods because of their chart.
func scaled(op *vnflcm.Operation, vduID string) bool {
	return op.Scale != nil && slices.Contains(op.Flavour.VDUsOf(op.Scale.AspectID), vduID)
}

// podRefs returns the Refs of pods.
func podRefs(pods []objects.Pod) []objects.Ref {
	var out []objects.Ref
	for _, p := range pods {
		out = append(out, p.Ref())
	}
	return out
}
