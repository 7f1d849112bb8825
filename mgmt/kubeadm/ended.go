package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// This file has the tasks for certificates that have ended: the API does not answer, and members of etcd refuse each other. These tasks need
// only SSH until the API servers have restarted.

const ifEnded = "certificates of the node have ended"

var (
	findEnded      = repeated("ended", "certificates that have ended are renewed without the API", runFindEnded)
	renewKubelet   = task{Name: "renew-kubelet", Why: "the kubelet can log in to the API", If: "the certificate of the kubelet has ended", Do: runRenewKubelet}
	renewEnded     = task{Name: "renew-ended", Why: "kubeadm renews the certificates without the API", If: ifEnded, Do: runRenewEnded}
	checkRenewed   = repeated("renewed", "etcd has a majority of its members after they have restarted", runCheckRenewed)
	startEtcd      = task{Name: "start-etcd", Why: "members of etcd accept each other again", If: ifEnded, Do: runStartEtcd}
	awaitEtcd      = task{Name: "await-etcd", Why: "etcd has a quorum again", If: "certificates of members of etcd have ended", Do: runAwaitEtcd}
	startAPIServer = task{Name: "start-api-server", Why: "the API answers, and the controllers work", If: ifEnded, Do: runStartAPIServer}
	forgetEnded    = repeated("forget-ended", "the next renewal looks at the certificates again", runForgetEnded)
)

// renewEnded adds the tasks for control-plane nodes whose certificates have ended. They restart the members of etcd of all these nodes that are
// not healthy at the same time. A healthy member is left to the tasks that watch the quorum.
func (p *planner) renewEnded(ended tasks) tasks {
	var renewed tasks
	for _, n := range p.ControlPlane {
		renewed = append(renewed, p.Chain(n, []task{renewKubelet, renewEnded}, ended)...)
	}
	started := p.Each(p.ControlPlane, startEtcd, p.Once(checkRenewed, renewed))
	return p.Each(p.ControlPlane, startAPIServer, p.Once(awaitEtcd, started))
}

// endedState is the prefix of the state keys, by resource id, of nodes whose certificates had ended when the operation first looked: an
// attempt that follows finds new certificates in files that no program has read yet.
const endedState = "ended/"

// endedRecord is the value of such a key.
type endedRecord struct {
	Operation string `json:"operation"` // records of other operations are void
	controlplane.Ended
}

// findLimit bounds how long the certificates of one node may take to read.
const findLimit = 30 * time.Second

// runFindEnded sets e.ended. A machine that does not answer is left out: it may be dead, and the other nodes are renewed all the same.
func runFindEnded(ctx context.Context, e *environment, _ mgmt.Node) error {
	return vnflcm.Each(ctx, e.config.Parallel, e.nodes(), func(ctx context.Context, n mgmt.Node) error {
		var was endedRecord
		if err := e.op.State().Get(ctx, endedState+n.ResourceID, &was); err != nil && !errors.Is(err, vnflcm.ErrNotFound) {
			return err
		}
		if was.Operation != e.op.ID {
			was.Ended = controlplane.Ended{}
		}
		var now controlplane.Ended
		var user string
		err := mgmt.Within(ctx, findLimit, func(ctx context.Context) (err error) {
			now, user, err = controlplane.FindEnded(ctx, n, e.isControlPlane(n))
			return err
		})
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		e.unread.Set(n.ID, err)
		if err != nil {
			e.op.Warn(ctx, fmt.Sprintf("it is not known whether all certificates of %s have ended: %v", n.Name, err))
		}
		found := both(was.Ended, now)
		e.ended.Set(n.ID, found)
		e.kubelets.Set(n.ID, user)
		if found == was.Ended {
			return nil
		}
		e.op.Report(ctx, "certificates of "+n.Name+" have ended")
		return e.op.State().Put(ctx, endedState+n.ResourceID, endedRecord{e.op.ID, found})
	})
}

// both returns the certificates that have ended by either of two looks.
func both(a, b controlplane.Ended) controlplane.Ended {
	return controlplane.Ended{Etcd: a.Etcd || b.Etcd, API: a.API || b.API, Kubelet: cmp.Or(b.Kubelet, a.Kubelet)}
}

// assumed returns the configuration by which certificates of a control-plane node are renewed while the API does not answer.
func (e *environment) assumed(ctx context.Context, n mgmt.Node) (controlplane.Configuration, error) {
	return controlplane.Assume(ctx, n, e.p.certificateValidity())
}

// runRenewKubelet renews the certificate of a kubelet. A failure is a warning: neither static pods nor other nodes need the certificate.
func runRenewKubelet(ctx context.Context, e *environment, n mgmt.Node) error {
	ended := e.ended.Of(n.ID)
	if ended.Kubelet == "" {
		return nil
	}
	err := n.Do(ctx, e.op, "renew-kubelet", twoMinutes(e.config.Timeouts), func(ctx context.Context) error { return replaceKubeletCertificate(ctx, e, n, ended.Kubelet) })
	if err == nil || ctx.Err() != nil {
		return err
	}
	advice := "heal the machine"
	if errors.Is(err, errUnsigned) {
		advice = "order the renewal again after the control plane is mended"
	}
	e.op.Warn(ctx, fmt.Sprintf("the certificate of the kubelet of %s has ended and was not renewed, %s: %v", n.Name, advice, err))
	ended.Kubelet = "" // nothing waits for the kubelet
	e.ended.Set(n.ID, ended)
	return nil
}

func replaceKubeletCertificate(ctx context.Context, e *environment, n mgmt.Node, user string) error {
	if err := e.checkKubeletUser(n, user); err != nil {
		return err
	}
	kubelet, err := controlplane.FindKubelet(ctx, n, user)
	if err != nil {
		return err
	}
	pair, err := signKubelet(ctx, e, n, kubelet)
	if err != nil {
		return err
	}
	return kubelet.Install(ctx, pair)
}

// checkKubeletUser returns ErrForeignKubelet if another node has a certificate for the same user. Workers cannot keep a control-plane node from
// its certificate in this way.
func (e *environment) checkKubeletUser(n mgmt.Node, user string) error {
	nodes := e.nodes()
	if e.isControlPlane(n) {
		nodes = e.controlPlane
	}
	for _, other := range nodes {
		if other.ID != n.ID && e.kubelets.Of(other.ID) == user {
			return fmt.Errorf("%w: %s has one for the same user", controlplane.ErrForeignKubelet, other.Name)
		}
	}
	return nil
}

// errUnsigned reports that the failure is not one of the node with the kubelet.
var errUnsigned = errors.New("kubeadm: no control-plane node has signed a certificate")

// signKubelet returns a new certificate for a kubelet and its key, which kubeadm signs: on the node itself if it is a control-plane node, otherwise
// on the first control-plane node that can.
func signKubelet(ctx context.Context, e *environment, n mgmt.Node, kubelet controlplane.Kubelet) ([]byte, error) {
	signers := e.controlPlane
	if e.isControlPlane(n) {
		signers = []mgmt.Node{n}
	}
	errs := []error{errUnsigned}
	for _, by := range signers {
		config, err := e.assumed(ctx, by)
		var pair []byte
		if err == nil {
			pair, err = kubelet.Sign(ctx, by, config)
		}
		if err == nil || errors.Is(err, controlplane.ErrForeignKubelet) || ctx.Err() != nil {
			return pair, err
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// ifControlPlaneEnded runs a step on a control-plane node whose certificates have ended.
func ifControlPlaneEnded(ctx context.Context, e *environment, n mgmt.Node, name string, limit time.Duration, do func(context.Context) error) error {
	if !e.ended.Of(n.ID).ControlPlane() {
		return nil
	}
	return n.Do(ctx, e.op, name, limit, do)
}

// runRenewEnded sets e.unrenewed: the other nodes are renewed also if one fails.
func runRenewEnded(ctx context.Context, e *environment, n mgmt.Node) error {
	err := ifControlPlaneEnded(ctx, e, n, "renew-ended", twoMinutes(e.config.Timeouts), func(ctx context.Context) error {
		config, err := e.assumed(ctx, n)
		if err != nil {
			return err
		}
		return config.RenewCertificates(ctx, n)
	})
	if ctx.Err() != nil {
		return err
	}
	e.unrenewed.Set(n.ID, err)
	return nil
}

// runCheckRenewed fails before any member of etcd is restarted, if too few members could be healthy afterwards: the error has the reasons. If
// enough can, the operation fails in startAPIServer of the nodes that were not renewed.
func runCheckRenewed(_ context.Context, e *environment, _ mgmt.Node) error {
	var errs []error
	var able, restarts int
	for _, n := range e.controlPlane {
		ended := e.ended.Of(n.ID).Etcd
		if ended {
			restarts++
		}
		unread, unrenewed := e.unread.Of(n.ID), e.unrenewed.Of(n.ID)
		errs = append(errs, unread, unrenewed)
		if unread == nil && (unrenewed == nil || !ended) {
			able++
		}
	}
	if restarts > 0 && 2*able <= len(e.controlPlane) {
		return errors.Join(errs...)
	}
	return nil
}

// restartsEtcd reports whether the member of a node had a certificate that had ended, and has been renewed.
func (e *environment) restartsEtcd(n mgmt.Node) bool {
	return e.ended.Of(n.ID).Etcd && e.unrenewed.Of(n.ID) == nil
}

// healthyLimit bounds the wait for the other members before a healthy one is restarted with its new certificate.
const healthyLimit = 10 * time.Second

func unchecked() error { return nil }

// runStartEtcd makes the kubelet start a member whose certificates had ended. awaitEtcd waits for it, since it may need the other members. A
// healthy member, such as one whose certificate ends within two minutes, is left to restartEtcd unless every member is healthy.
func runStartEtcd(ctx context.Context, e *environment, n mgmt.Node) error {
	if !e.restartsEtcd(n) {
		return nil
	}
	return n.Do(ctx, e.op, "start-etcd", twoMinutes(e.config.Timeouts), func(ctx context.Context) error {
		if e.etcd().IsHealthy(ctx, n) {
			if mgmt.Within(ctx, healthyLimit, func(ctx context.Context) error { return e.etcd().Await(ctx, e.controlPlane, nil) }) != nil {
				return context.Cause(ctx)
			}
			if err := e.etcd().MoveLeader(ctx, []mgmt.Node{n}); err != nil {
				return err
			}
		}
		_, err := markRestart(ctx, n, unchecked, controlplane.StaticEtcd)
		return err
	})
}

// runAwaitEtcd waits until the members whose certificates had ended are healthy. Other members may be dead.
func runAwaitEtcd(ctx context.Context, e *environment, _ mgmt.Node) error {
	started := slices.DeleteFunc(slices.Clone(e.controlPlane), func(n mgmt.Node) bool { return !e.restartsEtcd(n) })
	if len(started) == 0 {
		return nil
	}
	return vnflcm.Do(ctx, e.op, "await-etcd", "", func(ctx context.Context) error {
		return mgmt.Within(ctx, e.config.Timeouts.Ready, func(ctx context.Context) error { return e.etcd().Await(ctx, started, e.controlPlane) })
	})
}

func runStartAPIServer(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := e.unrenewed.Of(n.ID); err != nil {
		return err
	}
	return ifControlPlaneEnded(ctx, e, n, "start-api-server", e.config.Timeouts.Ready, func(ctx context.Context) error {
		if err := runRestartAPIServer(ctx, e, n); err != nil {
			return err
		}
		return runRestartControllers(ctx, e, n)
	})
}

// isRenewed reports whether the certificates of a node that had ended have been renewed as the cluster is configured. The configuration
// was not known then.
func (e *environment) isRenewed(n mgmt.Node) (bool, error) {
	if !e.ended.Of(n.ID).ControlPlane() {
		return false, nil
	}
	want, err := e.configuration.Of("").Validity()
	return cmp.Or(e.p.certificateValidity(), controlplane.DefaultValidity) == want, err
}

// awaitKubelet waits until a node whose kubelet has a new certificate is Ready.
func awaitKubelet(ctx context.Context, e *environment, n mgmt.Node) error {
	return mgmt.Within(ctx, min(e.config.Timeouts.Ready, 2*time.Minute), func(ctx context.Context) error {
		return e.kube.WaitReady(ctx, map[netip.Addr]string{n.IP: n.Label()}, func(message string) { e.op.Report(ctx, message) })
	})
}

// runForgetEnded deletes the records, also those of an operation that has failed.
func runForgetEnded(ctx context.Context, e *environment, _ mgmt.Node) error {
	keys, err := e.op.State().Keys(ctx, endedState)
	for _, key := range keys {
		err = errors.Join(err, e.op.State().Delete(ctx, key))
	}
	return err
}
