package kubespray

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/internal/hostkeys"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/ansible"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// ansibleParam are the parameters of the Ansible server: its address, its login, and paths on it.
type ansibleParam struct {
	Address string `json:"ip_address"` // may also be a host name
	Port    int    `json:"port"`       // beyond Tacker; default 22
	mgmt.Login
	HostKey       string        `json:"host_key"` // beyond Tacker; default: trust the first key seen
	Root          string        `json:"kubespray_root_path"`
	Inventory     string        `json:"transferring_inventory_path"` // default: in the login user's home
	VaultPassword vnflcm.Secret `json:"vault_password"`              // beyond Tacker
}

func (a ansibleParam) ownLogin() bool {
	return a.Username != "" || !a.Password.IsZero() || !a.PrivateKey.IsZero() || a.HostKey != ""
}

// endpoint returns host:port.
func (a ansibleParam) endpoint() string {
	return net.JoinHostPort(a.Address, strconv.Itoa(cmp.Or(a.Port, 22)))
}

// refusal is how long an Ansible server may refuse the credentials. It is short because the server was set up before the
// operation.
const refusal = time.Second

// ansibleServer returns the server on which the playbooks of an operation run.
func (d *Driver) ansibleServer(op *vnflcm.Operation, a ansibleParam) (ansible.Server, error) {
	if a.Address == "" {
		return d.config.Server.Server, nil
	}
	auth, err := a.Auth("")
	if err != nil {
		return ansible.Server{}, err
	}
	target := sshexec.Target{ID: a.endpoint(), Name: "Ansible server " + a.endpoint(), Addr: a.endpoint(), User: a.Username, Auth: auth,
		HostKeys: sshexec.AcceptNewHostKeys(hostkeys.Of(op)), LoginGrace: refusal}
	if a.HostKey != "" {
		if target.HostKeys, err = sshexec.PinnedHostKeys(a.HostKey); err != nil {
			return ansible.Server{}, err
		}
	}
	return ansible.Server{Host: d.config.Pool.Host(target)}, nil
}

// forgetServer deletes the recorded host key of the Ansible server.
func (d *Driver) forgetServer(ctx context.Context, op *vnflcm.Operation, a ansibleParam) error {
	if a.Address == "" {
		return nil
	}
	return mgmt.ForgetHostKey(ctx, op, a.endpoint())
}
