package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	_ vnflcm.Inspector  = (*Driver)(nil)
	_ vnflcm.MarkReader = (*Driver)(nil)
)

// Inspect implements vnflcm.Inspector: it compares releases, objects and the number of pods of each VDU with the record. Pods themselves
// are not compared, because the cluster replaces them.
func (d *Driver) Inspect(ctx context.Context, op *vnflcm.Operation) ([]vnflcm.Finding, error) {
	w, err := d.begin(ctx, op)
	if err != nil {
		return nil, err
	}
	defer w.close()
	out, err1 := w.inspectReleases(ctx)
	refs, err := w.storedObjects(ctx)
	if err != nil || len(refs) == 0 {
		return out, errors.Join(err1, err)
	}
	absent, err2 := w.objects.Absent(ctx, refs)
	for _, r := range absent {
		out = append(out, vnflcm.Finding{Kind: vnflcm.Missing, Resource: "object", ID: r.String(), Name: r.Name})
	}
	now, err3 := w.resources(ctx, refs)
	if err3 == nil {
		out = append(out, podFindings(expectedPods(op), now.VNFCs)...)
	}
	return out, errors.Join(err1, err2, err3)
}

// inspectReleases compares the releases of the request with those on the cluster.
func (w *work) inspectReleases(ctx context.Context) (out []vnflcm.Finding, err error) {
	var errs []error
	for _, r := range w.design.releases {
		found := vnflcm.Finding{Resource: "release", ID: w.named(r.name).String(), Name: r.name}
		now, err := w.find(ctx, r.name)
		switch {
		case errors.Is(err, ErrForeignRelease):
			found.Kind, found.Detail = vnflcm.Differs, err.Error()
		case err != nil:
			errs = append(errs, err)
			continue
		case now == nil:
			found.Kind, found.Detail = vnflcm.Missing, "Helm has no such release"
		case now.State != helmclient.Deployed:
			found.Kind, found.Detail = vnflcm.Differs, fmt.Sprintf("revision %d is %s", now.Revision, now.State)
		default:
			continue
		}
		out = append(out, found)
	}
	return out, errors.Join(errs...)
}

// expectedPods returns the VNFCs of the record that have pods. VNFCs of a stopped VNF have no pods.
func expectedPods(op *vnflcm.Operation) []vnflcm.VNFC {
	if info := op.Instance().InstantiatedVnfInfo; info != nil && info.VnfState == vnflcm.VnfStopped {
		return nil
	}
	return op.VNFCs
}

// podFindings compares the numbers of pods by VDU.
func podFindings(record, now []vnflcm.VNFC) (out []vnflcm.Finding) {
	want, have := podsByVDU(record), podsByVDU(now)
	all := maps.Clone(want)
	maps.Copy(all, have)
	for _, vdu := range slices.Sorted(maps.Keys(all)) {
		if have[vdu] != want[vdu] {
			out = append(out, vnflcm.Finding{Kind: vnflcm.Differs, Resource: "pods", ID: vdu, Detail: fmt.Sprintf("%d pods, %d in the record", have[vdu], want[vdu])})
		}
	}
	return out
}

func podsByVDU(list []vnflcm.VNFC) map[string]int {
	out := map[string]int{}
	for _, v := range list {
		out[v.VDU]++
	}
	return out
}

// Marked implements vnflcm.MarkReader: releases, and objects of the usual kinds that manifests have made, by their label. Claims of volumes,
// which terminating leaves with their namespaces, are marked as kept.
func (d *Driver) Marked(ctx context.Context, vim vnflcm.VimConnectionInfo) ([]vnflcm.Mark, error) {
	cluster, err := kubeaccess.Open(ctx, vim, kubeaccess.Options{SSH: d.cfg.SSH, Dial: d.cfg.Dial, Allow: d.cfg.Allow, Cluster: d.cfg.Cluster})
	if err != nil {
		return nil, err
	}
	defer cluster.Close()
	list, err := objects.New(cluster).Marked(ctx)
	var marks []vnflcm.Mark
	claimed := namespacesOfClaims(list)
	for _, m := range list {
		mark := vnflcm.Mark{InstanceID: m.Instance, Resource: "object", ID: m.Ref.String(), Name: m.Ref.Name, Kept: m.Ref.IsClaim() || m.Ref.Kind == "Namespace" && claimed[[2]string{m.Instance, m.Ref.Name}]}
		if m.Release != "" {
			mark.Resource, mark.ID, mark.Name = "release", m.Release, m.Release
		}
		marks = append(marks, mark)
	}
	return slices.CompactFunc(marks, func(a, b vnflcm.Mark) bool { return a == b }), err
}

// namespacesOfClaims returns the instances and namespaces of claims: terminating leaves both.
func namespacesOfClaims(list []objects.Marked) map[[2]string]bool {
	out := map[[2]string]bool{}
	for _, m := range list {
		if m.Ref.IsClaim() {
			out[[2]string{m.Instance, m.Ref.Namespace}] = true
		}
	}
	return out
}
