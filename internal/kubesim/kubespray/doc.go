// Package kubespray is a fake ansible-playbook that runs the playbooks of kubespray on simulated machines: cluster.yml, facts.yml,
// scale.yml and remove-node.yml, in the places and with the groups and checks of the release that the Server has. Playbooks are Go
// functions. They log in to the machines over SSH and run the programs of the machines, such as kubeadm and kubectl, so that a machine
// fails them as it fails any other program.
//
// It reads the files that package mgmt/kubespray/inventory writes, and knows no more of Ansible: of INI files sections, hosts with
// variables and children, of YAML files the same, the files of variables in the directories of groups, vaults, and references to a
// secret of a host. Any other template is data. Output has the form of the callback ansible.posix.jsonl, which every server has.
//
// It is strict about arguments, groups, credentials and host keys: hosts are reached only with StrictHostKeyChecking=yes and a host
// key that a file has. As with the real program, ssh takes the first value of an option, and the arguments of ssh_args come first.
//
// A test cuts a run at a task of a host by a fault of that host: sshtest.Host.OnCommand sees the programs of each task.
package kubespray
