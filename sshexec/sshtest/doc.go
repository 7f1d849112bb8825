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
// directory), an SFTP server, a POSIX shell with many features of bash,
// processes, and the common small programs, among them a sudo that can ask for a
// password. Programs of your own are Go functions in Config.Commands. A program
// that a host started by [Start] does not have fails the test.
//
// # Cookbook
//
// Each line is a question and where to look; most have an example.
//
//   - A program with fixed answers, asserted on argv, stdin, environment and user:
//     [Script], [ScriptAnyOrder].
//   - A program with a mind of its own: [Command], [Process].
//   - A host without a program that hosts have: a nil entry in Config.Commands.
//   - What ran, who ran it, what it read and wrote: [Host.Commands], [Record].
//     What was asked by SFTP: [Host.Transfers].
//   - The files of the host, to prepare and to look at: [Host.FS]. Keep them for
//     the next host: Config.Dir, [Host.HostKeyPEM].
//   - A host that is down, booting, busy, slow, silent, full or read-only; a
//     connection that breaks after so many bytes: [Host.SetFaults], [Faults].
//   - Trouble at the right moment: [Host.OnCommand] with [Host.CutConnections].
//   - A machine that was replaced: [Host.ReplaceHostKey]. One that restarts:
//     [Host.Reboot].
//   - Keys, certificates, two factors: [NewKey], [Key.SignUser], [Key.SignHost],
//     Config.AuthenticationMethods, Config.Challenge.
//   - Host keys of several types: Config.HostKeys. A place where a client keeps
//     them: [HostKeyStore].
//   - A jump host: Config.Dial = new(net.Dialer).DialContext.
//   - A sudo with a password, other users: Config.SudoPassword, Config.Users.
//   - Another time: Config.Clock.
//
// # What is real
//
// Nothing that a script does reaches the real machine: its files, programs,
// environment and users are out of sight. Process substitution is not supported,
// nor are redirections of other streams than 0, 1 and 2; the builtins echo and
// printf do not see that a disk is full.
//
// # Processes
//
// Each session and each program has a process id, a process group and a session.
// $$, $!, $PPID, wait, trap, kill (by process or group), setsid, nohup, exec and
// the files stat, cmdline and environ in /proc/PID tell one story. Two things are
// simpler than in reality. A signal that ends a process ends also what that
// process waits for. And what runs in the background ends with its session, or
// when the connection is cut, unless it was started with setsid or nohup: that
// lives on until it ends, is killed, or the host is restarted or closed.
//
// systemctl, systemd-run and the like are not there. A program of yours that gets
// a signal sees its context end; so it does when the connection is cut.
//
// # Who may do what
//
// Directories of the system (/etc, /usr, /opt, /var/lib, /root, ...) belong to
// root, everything else to the login user. Only the owner writes; files there
// without the read bit for others, and anything in /root, are read by the owner
// alone. In /tmp and /var/tmp everybody makes files, and removes their own.
// chown changes the owner of a file or a tree. It is a simple rule, made to find
// a sudo that was forgotten.
//
// Symbolic links are followed within the host, in memory and below a directory
// alike. There are no hard links, and no devices but /dev/null and /dev/zero.
//
// The built-in programs know the options that provisioning scripts use, and end
// with code 2 on any other rather than doing something else than the real ones.
// What they do is tested against the real ones.
package sshtest
