package kubeadm

import (
	"context"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/vnfbalancer"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// etcdLimit bounds the wait for members of etcd to be healthy before one of them is restarted.
const etcdLimit = time.Minute

// runCheckEtcd fails if a member of etcd is not healthy. A member that an interrupted attempt has restarted gets time to come back.
func runCheckEtcd(ctx context.Context, e *environment, _ mgmt.Node) error {
	return mgmt.Within(ctx, min(e.config.Timeouts.Ready, etcdLimit), func(ctx context.Context) error { return e.etcd().Await(ctx, e.controlPlane, nil) })
}

// runReadConfiguration reads the configuration of the cluster once, so that the following tasks do not depend on the API.
func runReadConfiguration(ctx context.Context, e *environment, _ mgmt.Node) error {
	text, err := vnflcm.Run(ctx, e.op, vnflcm.Step[controlplane.Configuration]{Name: "configuration", Do: func(ctx context.Context) (controlplane.Configuration, error) {
		return clusterConfiguration(ctx, e)
	}})
	e.configuration.Set("", text)
	return err
}

// runRenewNode renews the certificates of a node. Doing it again, after a crash, is harmless.
func runRenewNode(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := runCheckEtcd(ctx, e, n); err != nil {
		return err
	}
	if renewed, err := e.isRenewed(n); renewed || err != nil {
		return err
	}
	return e.configuration.Of("").RenewCertificates(ctx, n)
}

// certificatesMark is the annotation by which the manifest of a static pod differs after a renewal: it has a digest of the certificates.
const certificatesMark = "vnfkit.io/certificates"

// restart makes the kubelet start static pods again, unless they run with the certificates in the files, and waits until they are Ready. The
// kubelet restarts several pods at once. before is called before each restart.
func restart(ctx context.Context, e *environment, n mgmt.Node, before func() error, pods ...string) error {
	digest, err := markRestart(ctx, n, before, pods...)
	for _, pod := range pods {
		if err == nil {
			err = e.kube.WaitStaticPod(ctx, n.IP, pod, certificatesMark, digest)
		}
	}
	return err
}

// markRestart writes the digest of the certificates into the manifests of static pods, and returns the digest.
func markRestart(ctx context.Context, n mgmt.Node, before func() error, pods ...string) (digest string, err error) {
	certificates, err := controlplane.ReadCertificates(ctx, n)
	if err != nil {
		return "", err
	}
	digest = certificates.Digest()
	for _, pod := range pods {
		mark, err := controlplane.MarkOf(ctx, n, pod, certificatesMark)
		if err == nil && mark != digest {
			err = before()
		}
		if err == nil {
			err = controlplane.Mark(ctx, n, pod, certificatesMark, digest)
		}
		if err != nil {
			return "", err
		}
	}
	return digest, nil
}

// runRestartEtcd restarts the etcd member of a node, unless another member is not healthy. Leadership moves to another member before.
func runRestartEtcd(ctx context.Context, e *environment, n mgmt.Node) error {
	return restart(ctx, e, n, func() error {
		if err := runCheckEtcd(ctx, e, n); err != nil {
			return err
		}
		return e.etcd().MoveLeader(ctx, []mgmt.Node{n})
	}, controlplane.StaticEtcd)
}

func runRestartAPIServer(ctx context.Context, e *environment, n mgmt.Node) error {
	if err := restart(ctx, e, n, unchecked, controlplane.StaticAPIServer); err != nil {
		return err
	}
	return controlplane.CheckServed(ctx, n)
}

func runRestartControllers(ctx context.Context, e *environment, n mgmt.Node) error {
	return restart(ctx, e, n, unchecked, controlplane.StaticControllerManager, controlplane.StaticScheduler)
}

// leadAPI makes a load balancer of the VNF, or the haproxy of a control-plane node, lead clients of the API to these nodes.
func leadAPI(ctx context.Context, e *environment, n mgmt.Node, controlPlane []mgmt.Node) error {
	if e.balanced() {
		return lead(ctx, e, n, controlPlane)
	}
	return e.balancing().Lead(ctx, n, vnfbalancer.Lead{ControlPlane: controlPlane, Workers: e.workers})
}

// lastTenth is the part of a certificate's life in which the kubelet has renewed it: it does so after 70 to 90 % of the life.
const lastTenth = 10

// runCheckKubelet warns of a kubelet that does not renew its certificate. The renewal does not depend on the machine: it may be dead.
func runCheckKubelet(ctx context.Context, e *environment, n mgmt.Node) error {
	if e.ended.Of(n.ID).Kubelet != "" {
		if err := awaitKubelet(ctx, e, n); err != nil && ctx.Err() == nil {
			e.op.Warn(ctx, fmt.Sprintf("the kubelet of %s has a new certificate, but the node is not Ready: %v", n.Label(), err))
		}
	}
	cert, err := controlplane.KubeletCertificate(ctx, n)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch {
	case err != nil:
		e.op.Warn(ctx, fmt.Sprintf("the certificate of the kubelet of %s cannot be read, it may be one that the kubelet does not renew: %v", n.Label(), err))
	case time.Until(cert.NotAfter) < cert.NotAfter.Sub(cert.NotBefore)/lastTenth:
		e.op.Warn(ctx, fmt.Sprintf("the kubelet of %s has not renewed its certificate, which ends on %s: heal the machine", n.Label(), cert.NotAfter.UTC().Format(time.DateOnly)))
	}
	return nil
}

// soon is when an operation warns before the end of certificates.
const soon = 30 * 24 * time.Hour

// warnOfEnd warns if the certificate of the API server of a node ends soon: operations do not renew certificates by the way.
func warnOfEnd(ctx context.Context, e *environment, n mgmt.Node) {
	cert, err := controlplane.APIServerCertificate(ctx, n)
	if err == nil && time.Until(cert.NotAfter) < soon {
		e.op.Warn(ctx, fmt.Sprintf("the certificates of %s end on %s: renew them by the task %s", n.Label(), cert.NotAfter.UTC().Format(time.DateOnly), vnflcm.RenewCertificates))
	}
}
