package kubespray

import (
	"bytes"
	"context"
	"encoding/pem"
	"errors"
	"path"

	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/internal/clusternodes"
	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// writeInventory writes the inventory of these nodes, and the files that belong to it, to the server. It is one step, named
// step.
func (d *deployment) writeInventory(ctx context.Context, step string, workers []mgmt.Node) error {
	return vnflcm.Do(ctx, d.op, step, "", func(ctx context.Context) error {
		return mgmt.Within(ctx, d.config.Timeouts.Login, func(ctx context.Context) error {
			files, err := d.files(ctx, workers)
			if err != nil {
				return err
			}
			return d.put(ctx, files, append(append([]mgmt.Node(nil), d.controlPlane...), workers...))
		})
	})
}

// files returns the files of the inventory, with absolute paths on the server.
func (d *deployment) files(ctx context.Context, workers []mgmt.Node) ([]inventory.File, error) {
	nodes := append(append([]mgmt.Node(nil), d.controlPlane...), workers...)
	known, algorithms, err := d.knownHosts(ctx, nodes)
	if err != nil {
		return nil, err
	}
	d.dir.algorithms = algorithms
	inv := inventory.Inventory{Generation: d.p.Groups.generation(d.versions.Kubespray), GroupVars: d.groupVars()}
	for _, n := range nodes {
		inv.Nodes = append(inv.Nodes, d.inventoryNode(n))
	}
	files, err := d.dir.generator(inventory.Options{VaultPassword: d.p.Ansible.VaultPassword}).Generate(inv)
	if err != nil {
		return nil, err
	}
	for i := range files {
		files[i].Path = path.Join(d.dir.path, files[i].Path)
	}
	files[0].Path = d.dir.inventory
	files = append(files, inventory.File{Path: d.dir.own() + "/known_hosts", Mode: 0o600, Content: known})
	keys, err := d.keyFiles()
	return append(files, keys...), err
}

func (d *deployment) inventoryNode(n mgmt.Node) inventory.Node {
	role, p, roles := "master", d.p.Master.nodeParam, []inventory.Role{inventory.ControlPlane, inventory.Etcd}
	if len(clusternodes.Among(d.controlPlane, []vnflcm.VNFC{n.VNFC})) == 0 {
		role, p, roles = "worker", d.p.Worker, []inventory.Role{inventory.Worker}
	}
	node := inventory.Node{Name: n.HostName, Address: d.sshAddress(n), IP: n.IP, User: p.Username, BecomePassword: p.becomePassword(), Roles: roles}
	if p.PrivateKey.IsZero() {
		node.Password = p.Password
	} else {
		node.KeyFile = d.keyFile(role)
	}
	return node
}

// becomePassword returns the password for sudo.
func (n nodeParam) becomePassword() vnflcm.Secret {
	if n.BecomePassword.IsZero() {
		return n.Password
	}
	return n.BecomePassword
}

func (d *deployment) keyFile(role string) string { return d.dir.own() + "/keys/" + role }

// keyFiles returns the private keys of the nodes, without a passphrase: Ansible runs unattended, so it cannot be asked for
// one.
func (d *deployment) keyFiles() (files []inventory.File, err error) {
	for role, n := range map[string]nodeParam{"master": d.p.Master.nodeParam, "worker": d.p.Worker} {
		if n.PrivateKey.IsZero() {
			continue
		}
		content := []byte(n.PrivateKey.Reveal())
		if !n.Passphrase.IsZero() {
			if content, err = open(content, []byte(n.Passphrase.Reveal())); err != nil {
				return nil, err
			}
		}
		content = append(bytes.TrimRight(content, "\n"), '\n') // ssh(1) requires a line break at the end
		files = append(files, inventory.File{Path: d.keyFile(role), Mode: 0o600, Content: content})
	}
	return files, nil
}

// open decrypts a private key with its passphrase. The error never quotes the key or the passphrase.
func open(key, passphrase []byte) ([]byte, error) {
	errKey := errors.New("kubespray: the private key cannot be opened with its passphrase")
	raw, err := ssh.ParseRawPrivateKeyWithPassphrase(key, passphrase)
	if err != nil {
		return nil, errKey
	}
	block, err := ssh.MarshalPrivateKey(raw, "")
	if err != nil {
		return nil, errKey
	}
	return pem.EncodeToMemory(block), nil
}
