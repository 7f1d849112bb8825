// Cnf-helm makes a CNF from the Helm charts of a VNF package, scales it, heals a pod of it and terminates it.
//
// The charts of the default package are MCIOPs of its VNFD. With -package ../packages/cnf the request has Tacker's attributes, and one
// of the aspects is scaled by a value of the chart.
//
// Without a flag it first makes a Kubernetes cluster as a VNF, on the embedded sandbox: no cloud, no root. Helm is the
// real one, linked into this program; the cluster that it talks to is simulated, and so are the pods. With -kubeconfig all
// of it happens on a real cluster, in the namespace "shop".
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/samples"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
)

type options struct {
	kubeconfig string // of a real cluster
	cnf        string // VNF package with requests/instantiate.json, or with requests/instantiate_chart.json and Tacker's attributes
	image      string // that the pods run
	json       bool   // write events as JSON
}

const help = `Cnf-helm makes a CNF from the Helm charts of a VNF package, scales, heals and terminates it.

	cnf-helm                               on a simulated cluster
	cnf-helm -kubeconfig ~/.kube/config    on a real one, in the namespace shop
`

func main() {
	var o options
	program := cli.New("cnf-helm", help)
	program.Flags.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of a real cluster; default: one is made on the sandbox")
	program.Flags.StringVar(&o.cnf, "package", samples.Package("cnf-mciop"), "VNF package of the CNF")
	program.Flags.StringVar(&o.image, "image", "", "image that the pods run; default: those of the charts, which exist only in the simulation")
	program.Flags.BoolVar(&o.json, "json", false, "write the events as JSON, an object per line, for other programs")
	program.Main(func(ctx context.Context, _ []string) error { return run(ctx, o, os.Stdout) })
}

func run(ctx context.Context, o options, out io.Writer) error {
	screen := progress.New(out, progress.Options{Interrupted: ctx, JSON: o.json})
	defer screen.Close()
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()

	vimID := realCluster
	if o.kubeconfig == "" {
		screen.Title("a Kubernetes cluster, on the sandbox")
		cluster, err := v.instantiate(ctx, v.clusterVNFD, filepath.Join(samples.Package("k8s-cluster"), "requests", "instantiate_sandbox.json"), "sandbox", nil)
		if err != nil {
			return err
		}
		vimID = kubeadm.VIMID(cluster)
	}

	screen.Title("a CNF from the charts of the package")
	id, err := v.instantiate(ctx, v.cnfVNFD, o.request(), vimID, o.params())
	if err != nil {
		return err
	}
	if err := v.show(ctx, screen, id); err != nil {
		return err
	}
	for _, aspect := range []string{"web_aspect", "cache_aspect"} {
		screen.Title("one step more of %s", aspect)
		operation, err := v.Scale(ctx, id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: aspect})
		if err := v.finished(ctx, operation, err); err != nil {
			return err
		}
	}
	if err := v.show(ctx, screen, id); err != nil {
		return err
	}

	inst, err := v.Get(ctx, id)
	if err != nil {
		return err
	}
	pods := inst.InstantiatedVnfInfo.VnfcResourceInfo
	hung := pods[max(0, slices.IndexFunc(pods, func(v vnflcm.VnfcResourceInfo) bool { return strings.HasPrefix(v.VduID, "web") }))]
	screen.Title("replace the pod %s", hung.ComputeResource.ResourceID)
	operation, err := v.Heal(ctx, id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{hung.ID}})
	if err := v.finished(ctx, operation, err); err != nil {
		return err
	}
	if err := v.show(ctx, screen, id); err != nil {
		return err
	}

	screen.Title("remove it")
	operation, err = v.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful, GracefulTerminationTimeout: 5})
	return errors.Join(v.finished(ctx, operation, err), v.Delete(ctx, id, ""))
}

// tackerRequest is the request of a package with Tacker's attributes.
const tackerRequest = "instantiate_chart.json"

// request returns the path of the instantiate request.
func (o options) request() string {
	file := filepath.Join(o.cnf, "requests", tackerRequest)
	if _, err := os.Stat(file); err != nil {
		file = filepath.Join(o.cnf, "requests", "instantiate.json")
	}
	return file
}

// params are laid over the additionalParams of the request.
func (o options) params() map[string]any {
	image := map[string]any{"image": o.image}
	switch {
	case o.image == "":
		return nil
	case filepath.Base(o.request()) != tackerRequest:
		return map[string]any{"mciop_values": map[string]any{"web": image, "cache": image}}
	}
	return map[string]any{"using_helm_install_param": []any{map[string]any{"exthelmchart": "false", "helmreleasename": "shop",
		"helmchartfile_path": "Files/kubernetes/web-0.1.0.tgz", "helmparameter": []string{"image=" + o.image}}}}
}

// instantiate makes a VNF by a request, on a VIM.
func (v *vnfm) instantiate(ctx context.Context, vnfd, request, vimID string, over map[string]any) (id string, err error) {
	r, err := samples.Request(request, over)
	if err != nil {
		return "", err
	}
	r.VimConnectionInfo = vnflcm.VimConnections{{ID: "vim", VimID: vimID}}
	vnf, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: vnfd})
	if err != nil {
		return "", err
	}
	operation, err := v.Instantiate(ctx, vnf.ID, r)
	return vnf.ID, v.finished(ctx, operation, err)
}

// finished waits for an operation that was accepted.
func (v *vnfm) finished(ctx context.Context, operation string, err error) error {
	if err != nil {
		return err
	}
	_, err = v.Wait(ctx, operation)
	return err
}

// show lists the pods.
func (v *vnfm) show(ctx context.Context, screen *progress.Screen, id string) error {
	inst, err := v.Get(ctx, id)
	if err != nil {
		return err
	}
	var pods []string
	for _, vnfc := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		pods = append(pods, vnfc.ComputeResource.ResourceID)
	}
	screen.Title("its pods: %s", strings.Join(pods, ", "))
	return nil
}
