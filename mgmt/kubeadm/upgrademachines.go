package kubeadm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/fanout"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/internal/expiry"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/kubeversion"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
)

// This file has the checks of machines before an upgrade.

// runCheckUpgradable finds what is wrong on a machine before anything is changed, all at once.
func runCheckUpgradable(ctx context.Context, e *environment, n mgmt.Node) error {
	fault, err := clusternodes.Answers(ctx, n)
	if fault != nil || err != nil {
		return errors.Join(err, e.refuse(ctx, checkNodes, fault))
	}
	var findings []error
	if e.isControlPlane(n) {
		findings = append(findings, e.refuse(ctx, checkDisk, controlplane.CheckSpace(ctx, n)))
	}
	flags, err := controlplane.RemovedKubeletFlags(ctx, n, e.shape.Upgrade.target())
	findings = append(findings, err, e.refuse(ctx, checkSettings, errors.Join(flags...)), e.refuse(ctx, checkCertificates, e.endingSoon(ctx, n)))
	if !e.p.newRuntime(e.versions) {
		s := e.preparationOf(e.shape.Upgrade.target().String())
		findings = append(findings, e.refuse(ctx, checkRuntime, s.CheckRuntime(ctx, n)))
	}
	for _, version := range e.shape.Upgrade.Path {
		findings = append(findings, e.refuse(ctx, checkPackage, e.preparationOf(version).CheckUpgrade(ctx, n)))
	}
	return errors.Join(findings...)
}

// leastValidity is how long the certificates of a node must be valid: an upgrade of a large cluster with its retries takes days.
const leastValidity = 7 * 24 * time.Hour

// endingSoon returns an error that names the certificates of a node that end soon, or have ended.
func (e *environment) endingSoon(ctx context.Context, n mgmt.Node) error {
	list, err := expiry.Files(ctx, e.op, 1, []mgmt.Node{n}, func(n mgmt.Node) []string {
		if e.isControlPlane(n) {
			return controlplane.CertificateFiles()
		}
		return nil
	})
	findings := []error{err}
	for _, c := range list {
		if time.Until(c.NotAfter) < leastValidity {
			findings = append(findings, fmt.Errorf("the certificate %s of %s ends at %s: renew the certificates first", c.Name, n.Label(), c.NotAfter.UTC().Format(time.RFC3339)))
		}
	}
	return errors.Join(findings...)
}

// mostApart is how far the clocks of two machines may differ. Certificates of kubeadm and of kubelets begin some minutes before they are made.
const mostApart = time.Minute

// clockLimit bounds how long a machine may take to show its clock.
const clockLimit = 20 * time.Second

// runCheckClocks compares the clocks of all nodes.
func runCheckClocks(ctx context.Context, e *environment, _ mgmt.Node) error {
	return e.refuse(ctx, checkClocks, e.clocksApart(ctx, e.nodes()))
}

// clocksApart returns an error if clocks of machines differ too much. A machine that does not answer is left to another check.
func (e *environment) clocksApart(ctx context.Context, nodes []mgmt.Node) error {
	type reading struct {
		n           mgmt.Node
		least, most time.Duration // bounds of the difference from the clock of this process
	}
	readings := make([]*reading, len(nodes))
	err := fanout.Each(ctx, len(nodes), e.config.Parallel, func(i int) error {
		_ = mgmt.Within(ctx, clockLimit, func(ctx context.Context) error {
			before := time.Now()
			clock, err := controlplane.Clock(ctx, nodes[i])
			if err == nil { // seconds are cut off
				readings[i] = &reading{nodes[i], time.Until(clock), clock.Add(time.Second).Sub(before)}
			}
			return err
		})
		return context.Cause(ctx)
	})
	if err != nil {
		return err
	}
	readings = slices.DeleteFunc(readings, func(r *reading) bool { return r == nil })
	if len(readings) < 2 {
		return nil
	}
	fast := slices.MaxFunc(readings, func(a, b *reading) int { return cmp.Compare(a.least, b.least) })
	slow := slices.MinFunc(readings, func(a, b *reading) int { return cmp.Compare(a.most, b.most) })
	if apart := fast.least - slow.most; apart > mostApart {
		err = fmt.Errorf("the clock of %s is at least %s ahead of the clock of %s, at most %s are accepted", fast.n.Label(), apart.Round(time.Second), slow.n.Label(), mostApart)
	}
	return err
}

// targetConfiguration returns the configuration of the cluster with the version of a hop.
func targetConfiguration(ctx context.Context, e *environment, h hop) (controlplane.Configuration, error) {
	config, err := clusterConfiguration(ctx, e)
	if err != nil {
		return "", err
	}
	return config.ForVersion(string(h))
}

// imagesOf returns the images that kubeadm deploys with the version of a hop. One task asks kubeadm on the first control-plane node, which has the
// version already.
func (e *environment) imagesOf(ctx context.Context, h hop) ([]string, error) {
	e.listing.Lock()
	defer e.listing.Unlock()
	if known := e.images.Of(string(h)); len(known) > 0 {
		return known, nil
	}
	config, err := targetConfiguration(ctx, e, h)
	if err != nil {
		return nil, err
	}
	images, err := config.Images(ctx, e.controlPlane[0])
	e.images.Set(string(h), images)
	return images, err
}

// onWorkers are the images of kubeadm that also run on workers.
var onWorkers = []string{"pause", "kube-proxy", "coredns"}

func runsOnWorkers(image string) bool { return slices.Contains(onWorkers, nameOf(image)) }

// nameOf returns the last part of the name of an image.
func nameOf(image string) string {
	name, _, _ := strings.Cut(path.Base(image), ":")
	return name
}

// imagesFor returns the images that a node needs for a hop.
func (e *environment) imagesFor(ctx context.Context, n mgmt.Node, h hop) (out []string, err error) {
	images, err := e.imagesOf(ctx, h)
	if err != nil {
		return nil, err
	}
	for _, image := range images {
		if e.isControlPlane(n) || runsOnWorkers(image) {
			out = append(out, image)
		}
		if nameOf(image) != controlplane.StaticEtcd || !e.isControlPlane(n) || !h.needsEtcdBefore() {
			continue
		}
		versions, err := e.etcd().Versions(ctx, []mgmt.Node{n})
		if err != nil {
			return nil, err
		}
		if !kubeversion.AtLeast(versions[n.ID], etcdBefore37) {
			out = append(out, image[:strings.LastIndex(image, ":")]+":"+etcdBefore37Tag)
		}
	}
	if e.shape.Upgrade.ControlPlane {
		out = append(out, e.p.networkImages()...) // the driver applies the manifest again
	}
	return out, nil
}

// runPullImages pulls the images that a node needs for a hop. Nothing of the cluster has changed yet: an image that cannot be pulled fails here.
func runPullImages(ctx context.Context, e *environment, n mgmt.Node, h hop) error {
	if past, err := h.isPast(ctx, e); past || err != nil {
		return err
	}
	images, err := e.imagesFor(ctx, n, h)
	if err == nil {
		err = client.Pull(ctx, n.SSH, e.p.connections(), images)
	}
	if err != nil {
		err = fmt.Errorf("%w: %s", err, e.p.imageRemedy())
	}
	return e.refuse(ctx, checkImages, err)
}
