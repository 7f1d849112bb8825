package mgmt

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/internal/jumphost"
	"github.com/vnfkit/vnfkit/mgmt/linux"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// Node is a machine of the VNF that a driver works on.
type Node struct {
	vnflcm.VNFC
	HostName string        // as HostName makes it
	IP       netip.Addr    // address for the other nodes
	SSH      *sshexec.Host // as the login user; as root: Root
}

// String returns the long name of the machine (vnflcm.VNFC.Describe), for texts that are not the error of a step on the machine. Label
// returns the short name.
func (n Node) String() string { return n.Describe(n.HostName) }

// Access says how a group of machines is reached: those that have the connection point CP.
type Access struct {
	CP    string // connection point descriptor for SSH: of the VNFD, or a name that the InfraDriver adds
	NIC   string // the one whose address the other nodes use; default CP
	Login Login
	// HostKeys are trusted host keys: a machine must present one of them at the first login. They take precedence over a key
	// that the VIM reports. Without either of them a machine is trusted at the first login, with a warning.
	HostKeys HostKeys
	// SudoPassword is the password for sudo. Default: that of Login.
	SudoPassword vnflcm.Secret
	// LoginGrace is how long a refused login is tried again (sshexec.Target). Default: as long as one waits for the
	// machine.
	LoginGrace time.Duration
}

// Nodes finds the machines of the group among the VNFCs of the operation. role begins their host names.
// They are reached through the jump host that the VIM's extra.jump_host names (CheckJumpHost), if any. The list is empty if the VNF
// has no machines of the group at present. A CP or NIC that no VDU has is misspelt: the error names the known ones.
func (a Access) Nodes(op *vnflcm.Operation, pool *sshexec.Pool, role string) ([]Node, error) {
	for _, cp := range []string{a.CP, cmp.Or(a.NIC, a.CP)} {
		if err := op.CheckConnectionPoint(cp); err != nil {
			return nil, fmt.Errorf("mgmt: connection point %q: %w", cp, err)
		}
	}
	var nodes []Node
	via, _, err := jumphost.Target(op.VIM, hostkeys.Of(op))
	if err != nil {
		return nil, err
	}
	auth, err := a.Login.Credentials()
	if err != nil {
		return nil, err
	}
	trust, err := hostkeys.Policy(op, a.HostKeys)
	if err != nil {
		return nil, err
	}
	var errs []error
	for _, v := range op.VNFCs {
		if _, ours := v.CP(a.CP); !ours {
			continue
		}
		n, err := a.node(role, v)
		if err == nil {
			op.NameHost(v, n.HostName)
			n.SSH = pool.Host(a.target(n, via, auth, trust))
		}
		nodes, errs = append(nodes, n), append(errs, err)
	}
	return nodes, errors.Join(errs...)
}

func (a Access) sudoPassword() vnflcm.Secret {
	if a.SudoPassword.IsZero() {
		return a.Login.Password
	}
	return a.SudoPassword
}

func (a Access) node(role string, v vnflcm.VNFC) (Node, error) {
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
		return n, fmt.Errorf("mgmt: VNFC %s has no address at connection point %s", v, missing)
	}
	n.IP = nic.Fixed[0]
	n.HostName = HostName(role, n.IP)
	return n, nil
}

// target is how one logs in to a node.
func (a Access) target(n Node, via *sshexec.Target, auth []sshexec.Auth, trust sshexec.HostKeyPolicy) sshexec.Target {
	ssh, _ := n.CP(a.CP)
	return sshexec.Target{
		ID: n.ResourceID, Name: n.Label(), Addr: netip.AddrPortFrom(ssh.Address(), 22).String(), User: a.Login.Username,
		Auth:     auth,
		Sudo:     sshexec.SudoPassword(a.sudoPassword().Reveal()),
		HostKeys: trust,
		Via:      via, LoginGrace: a.LoginGrace,
	}
}

// Reach runs the step "reach" on a new machine: it waits until one can log in and cloud-init, where the image has it, has
// finished. What cloud-init reports of errors is logged as a warning.
func (n Node) Reach(ctx context.Context, op *vnflcm.Operation, limit time.Duration) error {
	return n.Do(ctx, op, "reach", limit, func(ctx context.Context) error {
		complaints, err := n.Root().AwaitBoot(ctx)
		if complaints != "" {
			op.Log.WarnContext(ctx, "cloud-init reports errors", "host", n.Label(), "status", complaints)
		}
		return err
	})
}

// Root returns the operations on the node that run as root.
func (n Node) Root() linux.Machine { return linux.AsRoot(n.SSH) }

// HostName names a node by its role and its whole address, so that names collide only where addresses do:
// worker-10-10-0-7. It is valid as a Kubernetes node name (RFC 1123).
func HostName(role string, addr netip.Addr) string {
	text := addr.Unmap().WithZone("").StringExpanded()
	return role + "-" + strings.NewReplacer(".", "-", ":", "-").Replace(text)
}

// HostKeys are SSH host keys of machines, each a line in authorized_keys form. Their order does not matter: it need not be
// known which machine has which key.
type HostKeys []string

// Validate reports every line that is not a key (*vnflcm.ParamError, joined), by its index in the list called name.
func (k HostKeys) Validate(name string) error {
	var faults []error
	for i, line := range k {
		if _, err := sshexec.PinnedHostKeys(line); err != nil || strings.Contains(strings.TrimSpace(line), "\n") {
			faults = append(faults, &vnflcm.ParamError{Path: fmt.Sprintf("%s[%d]", name, i), // without the value: it may be a private key
				Reason: "must be one public key in authorized_keys form, such as the line in /etc/ssh/ssh_host_ed25519_key.pub"})
		}
	}
	return errors.Join(faults...)
}

// HostKey returns the known key of a machine, in authorized_keys form without a comment: the key that the VIM reports,
// or the one that the machine has shown. It returns "" before the first login if the VIM reports no key.
func HostKey(ctx context.Context, op *vnflcm.Operation, resourceID string) (string, error) {
	key, err := hostkeys.Of(op).HostKey(ctx, resourceID)
	fields := strings.Fields(key)
	return strings.Join(fields[:min(2, len(fields))], " "), err
}

// ForgetHostKey removes the key of a machine that no longer exists.
func ForgetHostKey(ctx context.Context, op *vnflcm.Operation, resourceID string) error {
	return hostkeys.Of(op).DeleteHostKey(ctx, resourceID)
}
