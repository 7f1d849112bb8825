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
// and run the playbook on them:
//
//	ansible-playbook -i hosts.ini --become --become-user=root cluster.yml
//
// [YAML] writes hosts.yaml instead. The bytes depend only on the Inventory and the [Options].
//
// # Quoting
//
// Ansible passes a value of an inventory through a shell-like splitter, Python's literals and Jinja. Without quoting, a
// password 12345, a user True or a proxy with {{ in it would become another value. Both forms quote for all three, so
// Ansible reads the value that was given. Generate refuses a value that cannot be quoted, such as a password with a line
// break, which Ansible would type at a terminal. A string is data; only a [Template] is evaluated by Ansible.
//
// # Secrets
//
// Passwords are not in the inventory: a host refers to a dictionary in group_vars/all/zz_vnfkit_secrets.yml, a file of mode
// 0600, encrypted if [Options.VaultPassword] is set (Ansible Vault 1.1, see [Encrypt]). Only with [SecretsInline] are
// passwords on the lines of the hosts.
//
// # Files beside the inventory
//
// Ansible reads the variables of a group either from group_vars/etcd/ or from group_vars/etcd.yml, never from both. [Hides]
// names the files that must not exist beside those of Generate.
package inventory
