package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/kubeconfig"
	"github.com/vnfkit/vnfkit/infra/kubernetes"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// kubeconfig prints a kubeconfig of a cluster: of a VNF instance that is a cluster, or of an entry of the registry of VIMs.
func (v *VNFM) kubeconfig(ctx context.Context, words []string) error {
	entry, err := v.clusterEntry(ctx, words[0])
	if err != nil {
		return err
	}
	return v.Audit(ctx, "vnfm admin kubeconfig "+words[0], func() error {
		info, err := v.VIMs().Get(ctx, entry.Tenant, entry.VimID)
		if err != nil {
			return err
		}
		text, err := kubeconfig.Of(info, words[0])
		if err == nil {
			_, err = v.Out.Write(text)
		}
		return err
	})
}

// clusterEntry returns the entry of a cluster by the id of its VNF instance, or by its own id.
func (v *VNFM) clusterEntry(ctx context.Context, id string) (*vnflcm.VIM, error) {
	list, err := v.VIMRegistry().List(ctx, "")
	if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
		return nil, err
	}
	for _, e := range list {
		if e.Cluster != id && e.VimID != id {
			continue
		}
		switch e.VimType {
		case kubernetes.VimTypeV1, kubernetes.VimTypeV2, kubernetes.VimTypeHelm:
			return e, nil
		}
	}
	if _, errInstance := v.Get(ctx, id); errInstance == nil {
		err = errors.Join(fmt.Errorf("VNF instance %s has no cluster in the registry of VIMs: it is no cluster, or not ready", id), err)
	} else {
		err = errors.Join(fmt.Errorf("%w: no VNF instance and no cluster in the registry of VIMs has the id %s", vnflcm.ErrNotFound, id), err)
	}
	return nil, err
}

// machineLister is a management driver that logs in to machines.
type machineLister interface {
	// Machines returns the machines of the VNF with their logins, and connects to none.
	Machines(ctx context.Context, op *vnflcm.Operation) ([]mgmt.Node, error)
}

// ssh lists the machines of a VNF, or runs a command on one: without a command /bin/sh, which reads commands from standard input.
func (v *VNFM) ssh(ctx context.Context, words []string) error {
	run := func(machine string) error {
		return v.Examine(ctx, words[0], func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
			machines, err := machinesOf(ctx, op, drivers)
			if err != nil {
				return err
			}
			if machine == "" {
				return v.listMachines(machines)
			}
			n, err := choose(machines, machine)
			if err != nil {
				return err
			}
			return v.execute(ctx, op, n, words[2:])
		})
	}
	if len(words) == 1 {
		return run("")
	}
	// The arguments of the command are no part of the record: they may have secrets.
	return v.Audit(ctx, "vnfm admin ssh "+words[0]+" "+words[1], func() error { return run(words[1]) })
}

// machinesOf returns the machines that drivers log in to, each once.
func machinesOf(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) (out []mgmt.Node, err error) {
	known := map[string]bool{}
	for _, d := range drivers {
		lister, able := d.(machineLister)
		if !able {
			continue
		}
		list, err := lister.Machines(ctx, op)
		if err != nil {
			return nil, err
		}
		for _, n := range list {
			if !known[n.ID] {
				out = append(out, n)
			}
			known[n.ID] = true
		}
	}
	if len(out) == 0 {
		return nil, errors.New("no driver of the VNF logs in to its machines, so no login is known")
	}
	return out, nil
}

func (v *VNFM) listMachines(machines []mgmt.Node) error {
	type row struct{ name, vdu, address, host, id string }
	var list []row
	for _, n := range machines {
		list = append(list, row{n.Name, n.VDU, n.IP.String(), n.HostName, n.ID})
	}
	return show(v, list, []string{"name", "VDU", "address", "host name", "VNFC"}, func(r row) []string { return []string{r.name, r.vdu, r.address, r.host, r.id} })
}

// choose returns the machine with a name, an address, a host name, or the beginning of the VNFC id.
func choose(machines []mgmt.Node, name string) (mgmt.Node, error) {
	var found []mgmt.Node
	for _, n := range machines {
		if n.ID == name {
			return n, nil
		}
		if n.Name == name || n.HostName == name || n.IP.String() == name || n.ResourceID == name || strings.HasPrefix(n.ID, name) {
			found = append(found, n)
		}
	}
	if len(found) != 1 {
		return mgmt.Node{}, cli.Wrong("%d machines have the name, address or VNFC id %q: ssh with the id of the VNF instance alone lists them", len(found), name)
	}
	return found[0], nil
}

// execute runs a command on a machine whose host key an operation has recorded.
func (v *VNFM) execute(ctx context.Context, op *vnflcm.Operation, n mgmt.Node, argv []string) error {
	key, err := mgmt.HostKey(ctx, op, n.ResourceID)
	if err == nil && key == "" {
		err = fmt.Errorf("no operation has logged in to the machine %s yet, so its host key is not known", n.Name)
	}
	if err != nil {
		return err
	}
	if len(argv) == 0 {
		argv = []string{"/bin/sh"}
	}
	err = n.SSH.Exec(ctx, sshexec.Command{Argv: argv, Stdin: v.In, Stdout: v.Out, Stderr: v.Err})
	if failed, ran := errors.AsType[*sshexec.ExitError](err); ran && failed.Code > 0 {
		return cli.Explained{Code: failed.Code} // the command has written why
	}
	return err
}
