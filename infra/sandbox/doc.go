// Package sandbox is an infrastructure driver whose machines are SSH hosts inside the process (sshtest),
// with simulated Kubernetes tools. It lets you run whole VNF lifecycles, and test your own management
// driver, on any machine, without a VIM and without root:
//
//	world, err := sandbox.Open(sandbox.Config{Dir: "state"}) // Dir "": in memory
//	defer world.Close()
//	pool := sshexec.NewPool(sshexec.Options{Dial: world.Dial})
//	manager, err := vnflcm.New(ctx, vnflcm.Config{
//		Infra: map[string]vnflcm.InfraDriver{"sandbox": world},
//		...
//	})
//
// Machines get addresses in 198.18.0.0/15 that exist only for Dial. They accept User and Password, and sudo
// without a password. Their host keys are part of the resources, so management drivers send no password to a real machine that a
// program meets there because it forgot Dial. A healed machine is a new host: another resource id, another host key, empty files,
// the same name and address.
//
// With a Dir the world is on disk and outlives the process, as a cloud does: the state that a killed program left is
// there when Open is called again.
//
// Config.Ansible adds Ansible servers with kubespray, outside of every VNF. Their ansible-playbook reads the inventories
// that are on its disk, logs in to the machines with the credentials and host keys that it finds there, and makes and
// changes the simulated clusters. haproxy on a machine, and the node ports of Services, answer through Dial.
//
// Config.Packages adds packages for apt-get, with their services, files and programs, and Config.Commands adds programs
// that every machine has. An unknown program ends with "command not found", and Config.Unexpected is called, so that a test
// can fail.
package sandbox
