// Private-registry runs a private container registry as a VNF, and a Kubernetes cluster as another one whose nodes
// pull from it, on the embedded sandbox: no cloud, no root.
//
//  1. The registry is instantiated: TLS with a certificate made for it, and a user.
//  2. The instance tells how it is reached; an image is pushed to it.
//  3. The cluster is instantiated with that connection. Every node pulls the image once, or the operation fails.
//  4. Both are terminated.
//
// Nothing is kept: the machines live in the process.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/registry"
	"github.com/vnfkit/vnfkit/mgmt/registry/client"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
)

type options struct {
	registry, cluster string // VNF packages
	workers           int
	json              bool // write events as JSON
}

const help = `Private-registry runs a private container registry and a cluster that pulls from it, on machines inside the process.

	private-registry              a registry, and a cluster of two workers
	private-registry -workers 3   a larger cluster
`

func main() {
	var o options
	program := cli.New("private-registry", help)
	program.Flags.StringVar(&o.registry, "registry", samples.Package("private-registry"), "VNF package of the registry, a directory with requests/instantiate_sandbox.json")
	program.Flags.StringVar(&o.cluster, "cluster", samples.Package("k8s-cluster"), "VNF package of the cluster, the same")
	program.Flags.IntVar(&o.workers, "workers", 2, "workers of the cluster")
	program.Flags.BoolVar(&o.json, "json", false, "write the events as JSON, an object per line, for other programs")
	program.Main(func(ctx context.Context, _ []string) error { return run(ctx, o, os.Stdout) })
}

const (
	server = "registry.example.org" // the name that the nodes use
	user   = "cluster"
	image  = "team/web:1.0"
)

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
	password := vnflcm.NewSecret(rand.Text())

	screen.Title("a private registry, with TLS and a user")
	hub, err := v.instantiate(ctx, o.registry, map[string]any{"private_registry_installation_param": map[string]any{
		"server_name": server, "tls": map[string]any{}, "probe": true,
		"users": []any{map[string]any{"username": user, "password": password.Reveal()}},
	}})
	if err != nil {
		return err
	}
	connection, err := registry.ConnectionOf(hub.InstantiatedVnfInfo.VnfcResourceInfo[0])
	if err != nil {
		return err
	}
	connection.Username, connection.Password, connection.ProbeImage = user, password, image

	screen.Title("push %s to %s (%s)", image, connection.Server, connection.HostsString)
	if err := v.push(ctx, connection); err != nil {
		return err
	}

	screen.Title("a Kubernetes cluster whose nodes pull from there")
	cluster, err := v.instantiate(ctx, o.cluster, map[string]any{"k8s_cluster_installation_param": map[string]any{
		"private_registry_connection_info": client.Connections{connection},
	}}, vnflcm.ScaleInfo{AspectID: "worker_instance", ScaleLevel: o.workers - 1})
	if err != nil {
		return err
	}
	var nodes []string
	for _, node := range v.world.Nodes() {
		nodes = append(nodes, node.Name)
	}
	screen.Title("%s/%s is on %s", connection.Server, image, strings.Join(nodes, ", "))

	screen.Title("remove both")
	return errors.Join(v.remove(ctx, cluster.ID), v.remove(ctx, hub.ID))
}

// instantiate makes a VNF by the sample request of its package, with other parameters merged into those of the request.
func (v *vnfm) instantiate(ctx context.Context, pkg string, over map[string]any, levels ...vnflcm.ScaleInfo) (*vnflcm.VnfInstance, error) {
	request, err := samples.Request(filepath.Join(pkg, "requests", "instantiate_sandbox.json"), over)
	if err != nil {
		return nil, err
	}
	if len(levels) > 0 {
		request.InstantiationLevelID, request.TargetScaleLevelInfo = "", levels
	}
	vnf, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: v.vnfds[pkg]})
	if err != nil {
		return nil, err
	}
	operation, err := v.Instantiate(ctx, vnf.ID, request)
	if err != nil {
		return nil, err
	}
	if _, err := v.Wait(ctx, operation); err != nil {
		return nil, err
	}
	return v.Get(ctx, vnf.ID)
}

// remove terminates a VNF and forgets it.
func (v *vnfm) remove(ctx context.Context, id string) error {
	operation, err := v.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	if err != nil {
		return err
	}
	if _, err := v.Wait(ctx, operation); err != nil {
		return err
	}
	return v.Delete(ctx, id, "")
}
