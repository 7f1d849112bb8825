package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"text/tabwriter"

	"github.com/vnfkit/vnfkit/examples/internal/cli"
	"github.com/vnfkit/vnfkit/examples/internal/kubeconfig"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// kubeconfig writes a kubeconfig of the cluster, from its entry in the VIM registry.
func (v *vnfm) kubeconfig(ctx context.Context, id string, out io.Writer) error {
	vim, err := v.VIMs().Get(ctx, "", kubeadm.VIMID(id))
	if errors.Is(err, vnflcm.ErrNotFound) {
		return errors.New("the cluster is in no VIM registry: it is not ready, or the request has no vim_name")
	}
	if err != nil {
		return err
	}
	text, err := kubeconfig.Of(vim, "k8s-cluster")
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}

// check writes what is wrong with the machines of the cluster.
func (v *vnfm) check(ctx context.Context, id string, out io.Writer) error {
	return v.Examine(ctx, id, func(ctx context.Context, op *vnflcm.Operation, drivers []vnflcm.MgmtDriver) error {
		for _, d := range drivers {
			driver, able := d.(*kubeadm.Driver)
			if !able {
				continue
			}
			found, err := driver.Preflight(ctx, op)
			return errors.Join(writeFindings(out, found), err)
		}
		return errors.New("the driver of the cluster has no checks of machines")
	})
}

// writeFindings writes a table of findings.
func writeFindings(out io.Writer, found []kubeadm.PreflightFinding) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "nothing is wrong with the machines")
		return err
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range found {
		if _, err := fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", f.Machine, f.Check, f.Problem, cmp.Or(f.Remedy, "-")); err != nil {
			return err
		}
	}
	return table.Flush()
}

// machine is a VNFC, and the login that the request has for it.
type machine struct {
	id, name, vdu, address string
	login                  nodeLogin
}

// nodeLogin has the attributes of master_node and worker_node that a login takes.
type nodeLogin struct {
	CP         string        `json:"ssh_cp_name"`
	User       string        `json:"username"`
	PrivateKey vnflcm.Secret `json:"private_key"`
}

// machinesOf lists the machines that the request has a login for.
func machinesOf(inst *vnflcm.VnfInstance, params vnflcm.Params) ([]machine, error) {
	var p struct {
		Cluster struct {
			Master nodeLogin `json:"master_node"`
			Worker nodeLogin `json:"worker_node"`
		} `json:"k8s_cluster_installation_param"`
	}
	if _, err := params.Decode(&p); err != nil {
		return nil, err
	}
	if inst.InstantiatedVnfInfo == nil {
		return nil, errors.New("the VNF is not instantiated")
	}
	var out []machine
	for _, vnfc := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		for _, cp := range vnfc.VnfcCpInfo {
			for _, login := range []nodeLogin{p.Cluster.Master, p.Cluster.Worker} {
				if login.CP == cp.CpdID {
					out = append(out, machine{vnfc.ID, vnfc.Name, vnfc.VduID, addressOf(cp), login})
				}
			}
		}
	}
	return out, nil
}

// addressOf returns the first address of a connection point, "" if it has none.
func addressOf(cp vnflcm.VnfcCpInfo) string {
	for _, p := range cp.CpProtocolInfo {
		if p.IPOverEthernet == nil {
			continue
		}
		for _, list := range p.IPOverEthernet.IPAddresses {
			for _, address := range list.Addresses {
				return address
			}
		}
	}
	return ""
}

// ssh opens a shell on a machine, or lists the machines.
func (v *vnfm) ssh(ctx context.Context, o options, inst *vnflcm.VnfInstance) error {
	request, err := o.readRequest()
	if err != nil {
		return err
	}
	machines, err := machinesOf(inst, request.AdditionalParams)
	if err != nil {
		return err
	}
	if len(o.args) == 0 {
		return list(machines, os.Stdout)
	}
	m, err := choose(machines, o.args[0])
	if err != nil {
		return err
	}
	return m.shell(ctx, o.args[1:])
}

func list(machines []machine, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "name\tVDU\taddress\tVNFC")
	for _, m := range machines {
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", m.name, m.vdu, m.address, m.id)
	}
	return table.Flush()
}

// choose returns the machine with a name, an address, a VNFC id or its beginning, or the only one of a VDU.
func choose(machines []machine, name string) (machine, error) {
	var found []machine
	for _, m := range machines {
		if m.name == name || m.address == name || m.vdu == name || strings.HasPrefix(m.id, name) {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		return machine{}, cli.Wrong("%d machines are meant by %q: give a name, an address or the beginning of a VNFC id; ssh without a word lists them", len(found), name)
	}
	return found[0], nil
}

// shell runs the ssh program, which checks the host key as it always does, and asks for a password if the request has no key.
func (m machine) shell(ctx context.Context, command []string) (err error) {
	args := []string{cmp.Or(m.login.User, "root") + "@" + m.address}
	if key := m.login.PrivateKey.Reveal(); key != "" {
		file, failed := writeKey(key)
		if failed != nil {
			return failed
		}
		defer func() { err = errors.Join(err, os.Remove(file)) }()
		args = append([]string{"-i", file}, args...)
	}
	ssh := exec.CommandContext(ctx, "ssh", append(args, command...)...) //nolint:gosec // the user's own machines
	ssh.Stdin, ssh.Stdout, ssh.Stderr = os.Stdin, os.Stdout, os.Stderr
	return ssh.Run()
}

// writeKey writes a private key where only this user can read it.
func writeKey(key string) (name string, err error) {
	f, err := os.CreateTemp("", "k8s-cluster-key-*") // of mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(strings.TrimSpace(key) + "\n")
	if err = errors.Join(err, f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}
