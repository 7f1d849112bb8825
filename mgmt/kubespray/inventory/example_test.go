package inventory_test

import (
	"bytes"
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func machines() []inventory.Node {
	return []inventory.Node{
		{
			Name: "master-10-10-0-4", Address: netip.MustParseAddr("10.10.0.4"), User: "ubuntu", Password: vnflcm.NewSecret("it's #1"),
			Roles: []inventory.Role{inventory.ControlPlane, inventory.Etcd},
		},
		{
			Name: "worker-10-10-0-7", Address: netip.MustParseAddr("10.10.0.7"), User: "ubuntu", KeyFile: "/home/ansible/keys/worker",
			Roles: []inventory.Role{inventory.Worker},
		},
	}
}

func ExampleINI_Generate() {
	files, err := inventory.INI{}.Generate(inventory.Inventory{Nodes: machines()})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range files {
		fmt.Printf("--- %s %04o\n%s", f.Path, f.Mode, f.Content)
	}
	// Output:
	// --- hosts.ini 0644
	// [all]
	// master-10-10-0-4 ansible_host=10.10.0.4 etcd_member_name=etcd1 ansible_user=ubuntu ansible_password='"{{ vnfkit_secrets[\x27master-10-10-0-4\x27][\x27ansible_password\x27] | string }}"'
	// worker-10-10-0-7 ansible_host=10.10.0.7 ansible_user=ubuntu ansible_ssh_private_key_file=/home/ansible/keys/worker
	//
	// [kube_control_plane]
	// master-10-10-0-4
	//
	// [etcd]
	// master-10-10-0-4
	//
	// [kube_node]
	// worker-10-10-0-7
	//
	// [calico_rr]
	//
	// [k8s_cluster:children]
	// kube_control_plane
	// kube_node
	// calico_rr
	// --- group_vars/all/zz_vnfkit_secrets.yml 0600
	// # Written by vnfkit, which overwrites changes made here.
	// vnfkit_secrets:
	//   master-10-10-0-4:
	//     ansible_password: "it's #1"
}

func ExampleEncrypt() {
	vault, err := inventory.Encrypt([]byte("token: s3cret\n"), vnflcm.NewSecret("open me"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", vault[:bytes.IndexByte(vault, '\n')]) // ansible-vault view opens it
	// Output: $ANSIBLE_VAULT;1.1;AES256
}
