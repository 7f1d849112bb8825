package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Node is a machine of the VNF that a driver works on.
type Node struct {
	vnflcm.VNFC
	HostName string     // as HostName makes it
	IP       netip.Addr // by which the other nodes know it
	SSH      *sshexec.Host
}

// Access says how a group of machines is reached: those that have the connection point CP.
type Access struct {
	CP       string // connection point descriptor for SSH
	NIC      string // the one whose address the other nodes use; default CP
	User     string
	Password vnflcm.Secret
}

// Nodes finds the machines of the group among the VNFCs of the operation. role begins their host names.
// They are reached through the jump host that the VIM's extra.jump_host names (CheckJumpHost), if any.
func (a Access) Nodes(op *vnflcm.Operation, pool *sshexec.Pool, role string) ([]Node, error) {
	var nodes []Node
	via, err := jumpTarget(op)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, v := range op.VNFCs {
		if _, ours := v.CP(a.CP); !ours {
			continue
		}
		n, err := a.node(op, pool, role, v, via)
		nodes, errs = append(nodes, n), append(errs, err)
	}
	return nodes, errors.Join(errs...)
}

func (a Access) node(op *vnflcm.Operation, pool *sshexec.Pool, role string, v vnflcm.VNFC, via *sshexec.Target) (Node, error) {
	ssh, _ := v.CP(a.CP)
	nic := ssh
	if a.NIC != "" {
		nic, _ = v.CP(a.NIC)
	}
	n := Node{VNFC: v}
	missing := ""
	switch {
	case !ssh.Address().IsValid():
		missing = a.CP
	case len(nic.Fixed) == 0:
		missing = cmp.Or(a.NIC, a.CP)
	}
	if missing != "" {
		return n, fmt.Errorf("mgmt: VNFC %s (%s) has no address at connection point %s", v.ID, v.Name, missing)
	}
	n.IP = nic.Fixed[0]
	n.HostName = HostName(role, n.IP)
	n.SSH = pool.Host(sshexec.Target{
		ID: v.ResourceID, Name: n.HostName, Addr: netip.AddrPortFrom(ssh.Address(), 22).String(), User: a.User,
		Auth:     []sshexec.Auth{sshexec.Password(a.Password.Reveal())},
		Sudo:     sshexec.SudoPassword(a.Password.Reveal()),
		HostKeys: sshexec.AcceptNewHostKeys(hostKeys{op}),
		Via:      via,
	})
	return n, nil
}

// RunRoot runs a command on the node as root.
func (n Node) RunRoot(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error {
	return n.SSH.Exec(ctx, sshexec.Command{Argv: argv, Root: true, Stdin: stdin, Stdout: stdout, Stderr: stderr})
}

// HostName names a node by its role and its whole address, so that names collide only where addresses do:
// worker-10-10-0-7. It is valid as a Kubernetes node name (RFC 1123).
func HostName(role string, addr netip.Addr) string {
	text := addr.Unmap().WithZone("").StringExpanded()
	return role + "-" + strings.NewReplacer(".", "-", ":", "-").Replace(text)
}

// hostKeys keeps host keys in the sealed state of the instance.
type hostKeys struct{ op *vnflcm.Operation }

func (k hostKeys) HostKey(ctx context.Context, id string) (key string, err error) {
	err = k.op.State().Get(ctx, "hostkey/"+id, &key)
	if errors.Is(err, vnflcm.ErrNotFound) {
		return "", nil
	}
	return key, err
}

func (k hostKeys) PutHostKey(ctx context.Context, id, key string) error {
	return k.op.State().Put(ctx, "hostkey/"+id, key)
}

func (k hostKeys) DeleteHostKey(ctx context.Context, id string) error {
	return k.op.State().Delete(ctx, "hostkey/"+id)
}

// ForgetHostKey removes the key of a machine that is gone.
func ForgetHostKey(ctx context.Context, op *vnflcm.Operation, resourceID string) error {
	return hostKeys{op}.DeleteHostKey(ctx, resourceID)
}
