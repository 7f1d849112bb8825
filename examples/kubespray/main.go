// Kubespray takes a Kubernetes cluster through its life that an Ansible server makes with kubespray, behind a load
// balancer, on the embedded sandbox: no cloud, no root, no Ansible.
//
//  1. Instantiate: cluster.yml, haproxy, the cluster registered as a VIM at the address of the load balancer.
//  2. Scale out by a worker: scale.yml.
//  3. A worker dies, and is replaced: scale.yml.
//  4. The load balancer dies, and is replaced.
//  5. Terminate.
//
// After each of them the API is asked through the load balancer. The same package and driver make clusters on a real
// OpenStack with a real Ansible server: see examples/k8s-cluster.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
)

type options struct {
	pkg     string
	workers int
	json    bool // write events as JSON
}

const help = `Kubespray takes a Kubernetes cluster that an Ansible server makes with kubespray through its life, on machines inside the process.

	kubespray              a cluster of two workers
	kubespray -workers 3   a larger one
`

func main() {
	var o options
	program := cli.New("kubespray", help)
	program.Flags.StringVar(&o.pkg, "package", samples.Package("k8s-cluster-kubespray"), "VNF package, a directory with requests/instantiate_sandbox.json")
	program.Flags.IntVar(&o.workers, "workers", 2, "workers of the cluster")
	program.Flags.BoolVar(&o.json, "json", false, "write the events as JSON, an object per line, for other programs")
	program.Main(func(ctx context.Context, _ []string) error { return run(ctx, o, os.Stdout) })
}

func run(ctx context.Context, o options, out io.Writer) error {
	if o.workers < 1 {
		return cli.Wrong("-workers %d: the cluster needs at least 1 worker", o.workers)
	}
	screen := progress.New(out, progress.Options{Interrupted: ctx, JSON: o.json})
	defer screen.Close()
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()

	request, err := samples.Request(filepath.Join(o.pkg, "requests", "instantiate_sandbox.json"), nil)
	if err != nil {
		return err
	}
	request.InstantiationLevelID, request.TargetScaleLevelInfo = "", []vnflcm.ScaleInfo{{AspectID: "worker_instance", ScaleLevel: o.workers - 1}}
	vnf, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: v.vnfdID})
	if err != nil {
		return err
	}
	for _, next := range []struct {
		title string
		begin func() (operation string, err error)
	}{
		{"a cluster by kubespray, behind a load balancer", func() (string, error) { return v.Instantiate(ctx, vnf.ID, request) }},
		{"a worker more", func() (string, error) {
			return v.Scale(ctx, vnf.ID, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"})
		}},
		{"a worker dies: heal it", func() (string, error) { return v.healDead(ctx, vnf.ID, "workerNode") }},
		{"the load balancer dies: heal it", func() (string, error) { return v.healDead(ctx, vnf.ID, "externalLB") }},
	} {
		screen.Title("%s", next.title)
		operation, err := next.begin()
		if err := v.wait(ctx, operation, err); err != nil {
			return err
		}
		version, err := v.apiVersion(ctx, vnf.ID)
		if err != nil {
			return err
		}
		screen.Title("Kubernetes %s answers through the load balancer, with %d nodes", version, len(v.world.Nodes()))
	}
	screen.Title("remove it")
	operation, err := v.Terminate(ctx, vnf.ID, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	if err := v.wait(ctx, operation, err); err != nil {
		return err
	}
	return v.Delete(ctx, vnf.ID, "")
}

func (v *vnfm) wait(ctx context.Context, operation string, err error) error {
	if err == nil {
		_, err = v.Wait(ctx, operation)
	}
	return err
}

// healDead stops a machine of a VDU, and has it replaced.
func (v *vnfm) healDead(ctx context.Context, id, vdu string) (string, error) {
	vnf, err := v.Get(ctx, id)
	if err != nil {
		return "", err
	}
	for _, c := range vnf.InstantiatedVnfInfo.VnfcResourceInfo {
		if c.VduID == vdu {
			request := vnflcm.HealVnfRequest{VnfcInstanceID: []string{c.ID}, Cause: "the machine does not answer"}
			if err := v.world.Stop(c.ComputeResource.ResourceID); err != nil {
				return "", err
			}
			return v.Heal(ctx, id, request)
		}
	}
	return "", errors.New("the VNF has no machine of VDU " + vdu)
}
