// Package inventory writes the inventories that kubespray's playbooks take. It links no Kubernetes library.
//
// To build a cluster with kubespray by hand, list its machines:
//
//	inv := inventory.Inventory{Nodes: []inventory.Node{
//		{Name: "master-10-10-0-4", Address: netip.MustParseAddr("10.10.0.4"), User: "ubuntu", Password: vnflcm.NewSecret("…"),
//			Roles: []inventory.Role{inventory.ControlPlane, inventory.Etcd}},
//		{Name: "worker-10-10-0-7", Address: netip.MustParseAddr("10.10.0.7"), User: "ubuntu", KeyFile: "/home/ansible/keys/worker",
//			Roles: []inventory.Role{inventory.Worker}},
//	}}
//	files, err := inventory.INI{}.Generate(inv)
//	for _, f := range files { … } // hosts.ini first, below it group_vars/all/zz_vnfkit_secrets.yml: write them with their modes
//
//	ansible-playbook -i hosts.ini --become --become-user=root cluster.yml
//
// [YAML] writes hosts.yaml instead. The bytes depend on the Inventory and the [Options] alone.
//
// # What Ansible reads is what was meant
//
// A value of an inventory passes through a shell-like splitter, Python's literals and Jinja before it is used: a password 12345,
// a user True or a proxy with {{ in it become something else when they are written as they are. Both forms quote for all three, and
// what no quoting can express is an error before anything is written (a line break in a password, which is typed at a terminal). A
// string is data; a [Template] is for Ansible to evaluate.
//
// # Secrets
//
// Passwords are kept out of the inventory: a host refers to a dictionary in group_vars/all/zz_vnfkit_secrets.yml, of mode 0600,
// and encrypted by [Options.VaultPassword] (Ansible Vault 1.1; see [Encrypt]). Only [SecretsInline] puts them on the
// lines of the hosts.
//
// # Files beside the inventory
//
// Ansible reads the variables of a group from group_vars/etcd/ or from group_vars/etcd.yml, never from both. [Hides] names the files
// that must not be there.
package inventory
