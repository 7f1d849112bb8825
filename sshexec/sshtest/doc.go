// Package sshtest provides SSH hosts that live in the test process: to test what
// works over SSH without a machine, a container or root.
//
//	host := sshtest.Start(t, sshtest.Config{
//		Name: "node1",
//		Commands: map[string]sshtest.Command{
//			"systemctl": func(ctx context.Context, p *sshtest.Process) int { return 0 },
//		},
//	})
//	// connect to host.Addr() as "ubuntu" with password "ubuntu"
//
// A host listens on a loopback port. It has a file system (in memory, or below a
// directory), an SFTP server, a POSIX shell with many features of bash, and the
// common small programs, among them a sudo that can ask for a password. Programs
// of your own are Go functions in Config.Commands. A program that a host started
// by [Start] does not have fails the test.
//
// [Host.Commands] tells what ran. [Host.OnCommand], [Host.CutConnections] and
// [Host.Refuse] make trouble at the right moment.
//
// # What is real
//
// Nothing that a script does reaches the real machine: its files, programs,
// environment and users are out of sight. The variables $$ and $PPID are those
// of the test process. Process substitution is not supported. Background jobs end
// with the session they were started in, and the program kill finds no process.
//
// # Who may do what
//
// Directories of the system (/etc, /usr, /opt, /var/lib, /root, ...) belong to
// root, everything else to the login user. Only the owner writes; files there
// without the read bit for others, and anything in /root, are read by the owner
// alone. chown changes that for a file or a tree. It is a simple rule, made to
// find a sudo that was forgotten.
//
// The built-in programs know the options that provisioning scripts use, and end
// with code 2 on any other rather than doing something else than the real ones.
package sshtest
