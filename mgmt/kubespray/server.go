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

// ansibleParam is how the Ansible server is reached, and what is where on it.
type ansibleParam struct {
	Address string `json:"ip_address"` // or a host name
	Port    int    `json:"port"`       // beyond Tacker; default 22
	mgmt.Login
	HostKey       string        `json:"host_key"` // beyond Tacker; default: the first one seen
	Root          string        `json:"kubespray_root_path"`
	Inventory     string        `json:"transferring_inventory_path"` // default: in the login user's home
	VaultPassword vnflcm.Secret `json:"vault_password"`              // beyond Tacker
}

func (a ansibleParam) ownLogin() bool {
	return a.Username != "" || !a.Password.IsZero() || !a.PrivateKey.IsZero() || a.HostKey != ""
}

// endpoint is host:port.
func (a ansibleParam) endpoint() string {
	return net.JoinHostPort(a.Address, strconv.Itoa(cmp.Or(a.Port, 22)))
}

// refusal is how long an Ansible server may refuse the credentials: it has been set up before.
const refusal = time.Second

// ansibleServer is where the playbooks of an operation run.
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

// forgetServer drops what is kept of the Ansible server.
func (d *Driver) forgetServer(ctx context.Context, op *vnflcm.Operation, a ansibleParam) error {
	if a.Address == "" {
		return nil
	}
	return mgmt.ForgetHostKey(ctx, op, a.endpoint())
}
