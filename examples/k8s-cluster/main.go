// K8s-cluster manages a Kubernetes cluster as a VNF on a real OpenStack, from the sample package or one like
// it. Its state is in the state directory: interrupt or kill the program at any moment, run the same command
// again, and it continues.
//
//	k8s-cluster -h    every command
//
// With -plan, up, scale, heal, renew-certificates, upgrade and down show what they would do on which machine, and do nothing.
//
// STACK is the name or the id of the stack, FILE has the VNF instance as Tacker's API shows it, and -request is the request that
// Tacker was sent. Without FILE the cluster gets a new id and has the scale levels of the request. Adopting only reads.
//
// With -package examples/packages/k8s-cluster-kubespray, and a request of it, an Ansible server makes the cluster.
//
// The cloud is an entry of clouds.yaml. The images and flavors that the VNFD names must exist there.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/progress"
)

func main() {
	var o options
	commandLine(&o).Main(func(ctx context.Context, words []string) error {
		o.command, o.args = words[0], words[1:]
		return run(ctx, o)
	})
}

// run waits for the work of an interrupted run, then runs the command.
func run(ctx context.Context, o options) error {
	if err := o.check(); err != nil {
		return cli.Wrong("%w", err)
	}
	if o.isOffline() {
		return o.offline()
	}
	screen := progress.New(o.screen(), progress.Options{Interrupted: ctx, JSON: o.json})
	defer screen.Close()
	v, err := compose(ctx, o, screen)
	if err != nil {
		return err
	}
	defer v.close()
	if !o.plan && !o.reads() {
		if err := v.finish(ctx); err != nil {
			return err
		}
	}
	switch o.command {
	case "up":
		return v.up(ctx, o)
	case "adopt":
		return v.adopt(ctx, o)
	}
	return v.manage(ctx, o)
}

// screen returns where progress is shown.
func (o options) screen() *os.File {
	if o.reads() {
		return os.Stderr
	}
	return os.Stdout
}

// finish waits for operations of another process or of one that died, and retries one that failed: the cloud may be well again.
func (v *vnfm) finish(ctx context.Context) error {
	active, err := v.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack}})
	for _, occ := range active.Items {
		v.screen.Title("an earlier process left operation %s unfinished: waiting for it", occ.ID)
		err = errors.Join(err, v.wait(ctx, occ.ID, nil))
	}
	failed, listErr := v.Operations(ctx, vnflcm.OperationQuery{States: []vnflcm.OperationState{vnflcm.FailedTemp}})
	for _, occ := range failed.Items {
		if err == nil {
			v.screen.Title("retrying operation %s, which failed: %v", occ.ID, occ.Error)
			err = v.wait(ctx, occ.ID, v.Retry(ctx, occ.ID))
		}
	}
	return errors.Join(err, listErr)
}

func (v *vnfm) up(ctx context.Context, o options) error {
	request, err := o.readRequest()
	if err == nil {
		err = v.checkEmpty(ctx)
	}
	if err != nil {
		return err
	}
	inst, err := v.Create(ctx, vnflcm.CreateVnfRequest{VnfdID: v.vnfdID, VnfInstanceName: "k8s-cluster"})
	if err != nil {
		return err
	}
	if o.plan {
		return errors.Join(v.show(ctx, o, inst.ID, request), v.Delete(ctx, inst.ID, ""))
	}
	id, err := v.Instantiate(ctx, inst.ID, request)
	if err != nil {
		return errors.Join(err, v.Delete(ctx, inst.ID, ""))
	}
	return v.wait(ctx, id, nil)
}

// show shows what the operation of a request would do.
func (v *vnfm) show(ctx context.Context, o options, id string, request any) error {
	plan, err := v.Preview(ctx, id, request)
	switch {
	case err != nil:
		return err
	case o.json:
		return json.NewEncoder(os.Stdout).Encode(plan)
	}
	v.screen.Title("%s of VNF instance %s would do this:\n%s", plan.Operation, id, plan)
	return nil
}

// checkEmpty returns an error if there is a cluster.
func (v *vnfm) checkEmpty(ctx context.Context) error {
	list, err := v.Instances(ctx, vnflcm.InstanceQuery{Limit: 1})
	if err == nil && len(list.Items) > 0 {
		err = errors.New("there is a cluster in this state directory already")
	}
	return err
}

// adopt takes over the cluster of a stack that another program has made.
func (v *vnfm) adopt(ctx context.Context, o options) error {
	known := vnflcm.VnfInstance{VnfdID: v.vnfdID}
	if len(o.args) == 2 {
		if err := decodeFile(o.args[1], &known); err != nil {
			return err
		}
	}
	request, err := o.readRequest()
	if err == nil {
		err = v.checkEmpty(ctx)
	}
	if err != nil {
		return err
	}
	inst, err := v.Adopt(ctx, known, request, o.args[0])
	if err == nil {
		v.screen.Title("adopted as VNF instance %s with %d VNFCs", inst.ID, len(inst.InstantiatedVnfInfo.VnfcResourceInfo))
	}
	return err
}

// manage does something with the cluster that there is.
func (v *vnfm) manage(ctx context.Context, o options) error {
	list, err := v.Instances(ctx, vnflcm.InstanceQuery{Limit: 1})
	if err != nil || len(list.Items) == 0 {
		return errors.Join(err, errors.New("there is no cluster in this state directory"))
	}
	id := list.Items[0].ID
	switch o.command {
	case "scale":
		request, err := scaleRequest(o.args)
		if err != nil {
			return err
		}
		if o.plan {
			return v.show(ctx, o, id, request)
		}
		operation, err := v.Scale(ctx, id, request)
		return v.wait(ctx, operation, err)
	case "heal":
		request, err := healRequest(o.args)
		if err != nil {
			return err
		}
		if o.plan {
			return v.show(ctx, o, id, request)
		}
		operation, err := v.Heal(ctx, id, request)
		return v.wait(ctx, operation, err)
	case "check":
		return v.check(ctx, id, os.Stdout)
	case "certificates":
		_, err := v.Certificates(ctx, id)
		status, errStatus := v.CertificateStatus(ctx, id)
		if errStatus != nil {
			return errors.Join(err, errStatus)
		}
		return errors.Join(writeCertificates(os.Stdout, status.Certificates, time.Now()), err)
	case "renew-certificates":
		return v.maintain(ctx, o, id, vnflcm.MaintainVnfRequest{Task: vnflcm.RenewCertificates})
	case "upgrade":
		request, err := upgradeRequest(o.args)
		if err != nil {
			return err
		}
		return v.maintain(ctx, o, id, request)
	case "snapshot":
		return v.snapshot(ctx, o, id)
	case "show":
		encoder := json.NewEncoder(os.Stdout)
		encoder.SetIndent("", "  ")
		return encoder.Encode(list.Items[0])
	case "kubeconfig":
		return v.kubeconfig(ctx, id, os.Stdout)
	case "ssh":
		return v.ssh(ctx, o, list.Items[0])
	}
	request := vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful}
	if o.plan {
		return v.show(ctx, o, id, request)
	}
	operation, err := v.Terminate(ctx, id, request)
	if err := v.wait(ctx, operation, err); err != nil {
		return err
	}
	return v.Delete(ctx, id, "")
}

// maintain starts a maintenance task, or shows what it would do.
func (v *vnfm) maintain(ctx context.Context, o options, id string, request vnflcm.MaintainVnfRequest) error {
	if o.plan {
		return v.show(ctx, o, id, request)
	}
	operation, err := v.Maintain(ctx, id, request)
	return v.wait(ctx, operation, err)
}

// upgradeRequest reads a version and, if it is named, the file with further parameters of the cluster.
func upgradeRequest(args []string) (request vnflcm.MaintainVnfRequest, err error) {
	if len(args) < 1 || len(args) > 2 {
		return request, errors.New("upgrade takes a version such as 1.36.3 and, if need be, a JSON file with further parameters of the cluster")
	}
	params := map[string]any{}
	if len(args) == 2 {
		if err := decodeFile(args[1], &params); err != nil {
			return request, err
		}
	}
	params["kubernetes_version"] = args[0]
	request.Task = vnflcm.Upgrade
	request.AdditionalParams, err = vnflcm.NewParams(map[string]any{"k8s_cluster_installation_param": params})
	return request, err
}

// healRequest wants the whole cluster to be named: an empty answer of a command in a shell line must not replace it. Arguments with = are
// attributes of additionalParams.
func healRequest(args []string) (request vnflcm.HealVnfRequest, err error) {
	params := map[string]any{}
	for len(args) > 0 && strings.Contains(args[0], "=") {
		name, value, _ := strings.Cut(args[0], "=")
		params[name], args = value, args[1:]
	}
	switch {
	case len(args) == 0:
		err = errors.New(`heal takes the VNFCs to replace, or "all" for the whole cluster`)
	case len(args) == 1 && args[0] == "all":
		params["all"] = true
	default:
		request.VnfcInstanceID = args
	}
	if len(params) > 0 && err == nil {
		request.AdditionalParams, err = vnflcm.NewParams(params)
	}
	return request, err
}

func scaleRequest(args []string) (vnflcm.ScaleVnfRequest, error) {
	request := vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}
	if len(args) != 1 {
		return request, errors.New("scale takes one number: of workers more or, when negative, fewer")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n == 0 {
		return request, fmt.Errorf("%q is no number of workers", args[0])
	}
	if request.NumberOfSteps = n; n < 0 {
		request.Type, request.NumberOfSteps = vnflcm.ScaleIn, -n
	}
	return request, nil
}

// wait waits for an operation that was accepted.
func (v *vnfm) wait(ctx context.Context, operation string, err error) error {
	if err != nil {
		return err
	}
	_, err = v.Wait(ctx, operation)
	return err
}

// writeCertificates writes a table of certificates. It says when certificates were last read that could not be read now.
func writeCertificates(to io.Writer, list []vnflcm.KnownCertificate, now time.Time) error {
	const day = 24 * time.Hour
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, c := range list {
		name := c.Name
		if c.IsCA {
			name += " (CA)"
		}
		if now.Sub(c.Read) > time.Hour {
			name += ", last read " + c.Read.UTC().Format(time.DateOnly)
		}
		if _, err := fmt.Fprintf(table, "%s\t%d days\t%s\t%s\n", c.NotAfter.UTC().Format(time.DateOnly), c.NotAfter.Sub(now)/day, cmp.Or(c.Machine, "-"), name); err != nil {
			return err
		}
	}
	return table.Flush()
}
