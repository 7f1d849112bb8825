package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
	"github.com/vnfkit/vnfkit/internal/kubeaccess"
	"github.com/vnfkit/vnfkit/vnflcm"
)

var _ vnflcm.Operator = (*Driver)(nil)

// Operate implements vnflcm.Operator. A stop sets the number of pods of each workload to 0 by the subresource "scale", suspends CronJobs and
// Jobs that have not ended, and returns when no pod of the VNF runs. A forceful stop gives pods no time to end; a graceful one gives them
// gracefulStopTimeout seconds. An autoscaler pauses while its workload has 0 pods. A start restores the numbers, which the driver has recorded
// before the first change, and waits until all objects are ready.
//
// The request is refused if a pod of the VNF belongs to a workload without a number of pods, such as a DaemonSet, or to no workload, and if the
// cluster would delete the claims of a StatefulSet with its pods.
//
// Numbers of pods belong to workloads: the call with the first VNFC, or without VNFCs, works on the whole VNF.
func (d *Driver) Operate(ctx context.Context, op *vnflcm.Operation, vnfcs []vnflcm.VNFC) error {
	if len(op.VNFCs) > 0 && !slices.ContainsFunc(vnfcs, func(v vnflcm.VNFC) bool { return v.ID == op.VNFCs[0].ID }) {
		return nil
	}
	w, err := d.begin(ctx, op)
	if err != nil {
		return err
	}
	defer w.close()
	if err := w.warnOfManagers(ctx); err != nil {
		return err
	}
	if isStop(op) {
		return w.stopAll(ctx)
	}
	return w.startAll(ctx)
}

func isStop(op *vnflcm.Operation) bool {
	return op.Operate != nil && op.Operate.ChangeStateTo == vnflcm.VnfStopped
}

// stoppedKey is the state key of the workloads that a stop has changed. A start that has succeeded deletes it.
const stoppedKey = "kubernetes/stopped"

// stoppedWorkload is a workload as it was before a stop.
type stoppedWorkload struct {
	objects.Ref

	Replicas int `json:"replicas,omitempty"` // 0: the workload is a Job or a CronJob, which the stop has suspended
}

func has(list []stoppedWorkload, r objects.Ref) bool {
	return slices.ContainsFunc(list, func(s stoppedWorkload) bool { return sameObject(s.Ref, r) })
}

// recordedWorkloads returns the workloads that a stop has changed, in the order of the objects of the VNF.
func (w *work) recordedWorkloads(ctx context.Context) (list []stoppedWorkload, err error) {
	err = w.op.State().Get(ctx, stoppedKey, &list)
	if errors.Is(err, vnflcm.ErrNotFound) {
		err = nil
	}
	return list, err
}

func (w *work) stopAll(ctx context.Context) error {
	if err := w.readyStep(ctx, "stop-workloads", w.stopWorkloads); err != nil {
		return err
	}
	return vnflcm.Do(ctx, w.op, "await-stopped", "", w.awaitStopped)
}

// stopWorkloads records the numbers of pods, and sets them to 0, the workload that was made last first. Workloads at 0 that an earlier stop has
// recorded keep their record.
func (w *work) stopWorkloads(ctx context.Context) error {
	recorded, err := w.recordedWorkloads(ctx)
	if err != nil {
		return err
	}
	running, err := w.runningWorkloads(ctx, recorded)
	if err != nil {
		return err
	}
	all := slices.DeleteFunc(recorded, func(s stoppedWorkload) bool { return has(running, s.Ref) })
	if err := w.op.State().Put(ctx, stoppedKey, slices.Concat(all, running)); err != nil {
		return err
	}
	for _, s := range slices.Backward(running) {
		if s.Replicas > 0 {
			err = w.objects.SetReplicas(ctx, s.Ref, 0)
		} else {
			err = w.objects.SetSuspended(ctx, s.Ref, true)
		}
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// runningWorkloads returns the workloads that make pods. It refuses a stop if a pod would go on running; recorded are the workloads that a stop
// has changed already.
func (w *work) runningWorkloads(ctx context.Context, recorded []stoppedWorkload) (running []stoppedWorkload, err error) {
	refs, err := w.storedObjects(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := w.objects.Pods(ctx, refs)
	if err != nil {
		return nil, err
	}
	pods = slices.DeleteFunc(pods, func(p objects.Pod) bool { return p.Leaving || p.Finished() })
	for _, p := range pods {
		if of := p.Controller; of.Suspendable() { // such as a Job that a CronJob has made
			of.UID = ""
			refs = append(refs, of)
		}
	}
	var faults []error
	for _, r := range unique(refs) {
		s, runs, err := w.asRunning(ctx, r)
		if err != nil {
			return nil, err
		}
		if !runs {
			continue
		}
		running = append(running, s)
		loses, err := w.losesClaims(ctx, r)
		if err != nil {
			return nil, err
		}
		if loses {
			faults = append(faults, refusal(r, "its persistentVolumeClaimRetentionPolicy deletes the claims of pods, and with them the data"))
		}
	}
	return running, errors.Join(append(faults, unstoppable(refs, pods, slices.Concat(running, recorded)))...)
}

// losesClaims reports whether the cluster deletes the claims of a StatefulSet whose number of pods becomes 0.
func (w *work) losesClaims(ctx context.Context, r objects.Ref) (bool, error) {
	if r.Kind != "StatefulSet" {
		return false, nil
	}
	set, err := w.objects.Get(ctx, r)
	if set == nil || err != nil {
		return false, err
	}
	policy, _, _ := unstructured.NestedString(set.Object, "spec", "persistentVolumeClaimRetentionPolicy", "whenScaled")
	return policy == "Delete", nil
}

func refusal(r objects.Ref, reason string) error {
	return &vnflcm.ParamError{Path: "changeStateTo", Value: string(vnflcm.VnfStopped), Reason: r.String() + " cannot be stopped: " + reason}
}

// checkStop refuses a stop of a VNF that has pods which cannot be stopped.
func (w *work) checkStop(ctx context.Context) error {
	if !isStop(w.op) {
		return nil
	}
	recorded, err := w.recordedWorkloads(ctx)
	if err == nil {
		_, err = w.runningWorkloads(ctx, recorded)
	}
	return err
}

// asRunning returns a workload with its number of pods, and whether it makes pods.
func (w *work) asRunning(ctx context.Context, r objects.Ref) (s stoppedWorkload, runs bool, err error) {
	if r.Suspendable() {
		runs, err = w.objects.Runs(ctx, r)
		return stoppedWorkload{Ref: r}, runs, err
	}
	n, err := w.objects.Replicas(ctx, r)
	if errors.Is(err, objects.ErrNotScalable) || errors.Is(err, kubeaccess.ErrNoKind) || apierrors.IsNotFound(err) {
		return s, false, nil
	}
	return stoppedWorkload{r, n}, n > 0, err
}

// unstoppable returns a fault for each workload that is not among those that can be stopped and whose pods would go on running.
func unstoppable(refs []objects.Ref, pods []objects.Pod, stoppable []stoppedWorkload) error {
	var faults []error
	var seen []objects.Ref
	refuse := func(r objects.Ref, reason string) {
		if r.UID = ""; slices.Contains(seen, r) {
			return
		}
		seen = append(seen, r)
		faults = append(faults, refusal(r, reason))
	}
	for _, r := range refs {
		if r.Kind == "DaemonSet" && strings.HasPrefix(r.APIVersion, "apps/") {
			refuse(r, "it runs a pod on every node and has no number of pods")
		}
	}
	for _, p := range pods {
		switch {
		case has(stoppable, p.Top) || has(stoppable, p.Controller):
		case p.Controller.Name == "":
			refuse(p.Ref(), "no controller would make the pod again")
		default:
			refuse(p.Top, "its controller decides how many pods run")
		}
	}
	return errors.Join(faults...)
}

// awaitStopped waits until no pod of the VNF runs. Pods that exceed their time are deleted without further grace.
func (w *work) awaitStopped(ctx context.Context) error {
	how := removal{force: w.op.Operate.StopType != vnflcm.StopGraceful, grace: time.Duration(w.op.Operate.GracefulStopTimeout) * time.Second}
	return within(ctx, how.grace+2*w.cfg.Gone, func(ctx context.Context) error {
		return w.cluster.Retry(ctx, func(err error) bool { return errors.Is(err, errStill) }, func(ctx context.Context) error {
			pods, err := w.podsNow(ctx)
			pods = slices.DeleteFunc(pods, objects.Pod.Finished)
			if err != nil || len(pods) == 0 {
				return err
			}
			if err := w.podsGone(ctx, pods, how); err != nil {
				return err
			}
			return fmt.Errorf("%w: %d pods were deleted, others may have begun", errStill, len(pods))
		})
	})
}

func (w *work) startAll(ctx context.Context) error {
	if err := w.readyStep(ctx, "start-workloads", w.startWorkloads); err != nil {
		return err
	}
	if err := w.await(ctx); err != nil {
		return err
	}
	return w.op.State().Delete(ctx, stoppedKey)
}

// startWorkloads restores the recorded numbers of the workloads that are at 0. A workload that does not exist is left to the wait for all objects.
func (w *work) startWorkloads(ctx context.Context) error {
	recorded, err := w.recordedWorkloads(ctx)
	if err != nil {
		return err
	}
	for _, s := range recorded {
		if err := w.startOne(ctx, s); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

func (w *work) startOne(ctx context.Context, s stoppedWorkload) error {
	if s.Replicas == 0 {
		return w.objects.SetSuspended(ctx, s.Ref, false)
	}
	n, err := w.objects.Replicas(ctx, s.Ref)
	if err != nil || n > 0 {
		return err
	}
	return w.objects.SetReplicas(ctx, s.Ref, s.Replicas)
}

// withStopped adds the VNFCs that a stop has left without pods, without addresses, so that a start gives their ids to the new pods.
func (w *work) withStopped(vnfcs []vnflcm.VNFC) []vnflcm.VNFC {
	if !isStop(w.op) {
		return vnfcs
	}
	for _, v := range w.op.VNFCs {
		if !slices.ContainsFunc(vnfcs, func(now vnflcm.VNFC) bool { return now.ID == v.ID }) {
			v.Host, v.CPs = "", nil
			vnfcs = append(vnfcs, v)
		}
	}
	return vnfcs
}
