// Package vmhost makes "VMs" on one Linux machine, for tests: each has its own files (an overlay over those
// of the machine), processes, host name and network device, and runs the machine's own OpenSSH server.
//
//	network, err := vmhost.Up(ctx)
//	defer network.Close()
//	host, err := network.Create(ctx, vmhost.Spec{Name: "worker-0", User: "ubuntu", Password: "ubuntu"})
//	fmt.Println(host.Address) // port 22 answers
//	host.Kill()               // as pulling the plug; SetCable, SetFrozen, CutConnections, Reboot are milder
//	defer host.Close()
//
// It needs root, and the Debian packages openssh-server, sudo and iproute2. A host costs about 10 MB and a
// tenth of a second; many can be made at once.
//
// A host has nothing but sshd, or, with Spec.Systemd, systemd and its ssh.service and nothing else of the
// machine's: no logind, no D-Bus. That takes the package systemd and cgroup v2, alone or beside v1.
//
// Nothing stays behind: files and mounts are in namespaces that end with their processes, and a host ends
// when the process that made it does. Only the bridge, a directory, disks and control groups outlive a killed run;
// the next Up replaces them. The hosts see no device but their own, have a boot id of their own, write no setting of
// the kernel, and lack the capabilities to load modules, reboot, mount or set the clock.
package vmhost
