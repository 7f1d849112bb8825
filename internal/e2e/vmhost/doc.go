// Package vmhost creates hosts on one Linux machine, for tests. Each host has separate files (an overlay over the files
// of the machine), processes, a host name and a network device, and runs the OpenSSH server of the machine.
//
//	network, err := vmhost.Up(ctx)
//	defer network.Close()
//	host, err := network.Create(ctx, vmhost.Spec{Name: "worker-0", User: "ubuntu", Password: "ubuntu"})
//	fmt.Println(host.Address) // port 22 answers
//	host.Kill()               // like a power cut; other faults: SetCable, SetFrozen, CutConnections, Reboot
//	defer host.Close()
//
// The package needs root, and the Debian packages openssh-server, sudo and iproute2. A host needs about 10 MB and a
// tenth of a second. Hosts can be created in parallel.
//
// A host runs only sshd or, with Spec.Systemd, only systemd and ssh.service: no logind, no D-Bus. Spec.Systemd needs the
// package systemd and cgroup v2, alone or beside v1.
//
// Files and mounts of hosts are in namespaces that end with their processes, and a host ends with the process that has
// created it. If a run is killed, only the bridge, a directory, disks and control groups stay; the next Up replaces them.
// A host sees only its devices and has a separate boot id. It cannot write settings of the kernel, and it lacks the
// capabilities to load modules, reboot, mount or set the clock.
package vmhost
