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
// password. Config.Commands adds programs, which are Go functions. A program
// that a host started by [Start] does not have fails the test.
//
// # Cookbook
//
// Each line has a task and the functions for it; most have an example.
//
//   - A program with fixed answers, with checks of argv, stdin, environment and user: [Script], [ScriptAnyOrder].
//   - A program with its own logic: [Command], [Process].
//   - A host without a standard program: a nil entry in Config.Commands.
//   - Which programs ran, as which user, with which input and output: [Host.Commands], [Record].
//     SFTP requests: [Host.Transfers].
//   - The files of the host, to prepare and to check: [Host.FS]. Keep them for the next host: Config.Dir, [Host.HostKeyPEM].
//   - A host that is down, booting, busy, slow, silent, full or read-only; a
//     connection that breaks after so many bytes: [Host.SetFaults], [Faults].
//   - A fault at a certain command: [Host.OnCommand] with [Host.CutConnections].
//   - A replaced machine: [Host.ReplaceHostKey]. A reboot: [Host.Reboot].
//   - Keys, certificates, two factors: [NewKey], [Key.SignUser], [Key.SignHost],
//     Config.AuthenticationMethods, Config.Challenge.
//   - Host keys of several types: Config.HostKeys. A store of host keys for a client: [HostKeyStore].
//   - A jump host: Config.Dial = new(net.Dialer).DialContext.
//   - A login shell that prints or fails: write .bashrc in the home directory of Config.User. It is run before each command,
//     and before the SFTP server.
//   - A sudo with a password, other users: Config.SudoPassword, Config.Users.
//   - Another time: Config.Clock.
//
// # Isolation
//
// Scripts cannot access the files, programs, environment and users of the real machine. Process substitution is not
// supported, nor are redirections of streams other than 0, 1 and 2. The builtins echo and printf do not report a full disk.
//
// # Processes
//
// Each session and each program has a process id, a process group and a session. $$, $!, $PPID, wait, trap, kill (by process
// or group), setsid, nohup, exec and the files stat, cmdline and environ in /proc/PID are consistent. Two things are simpler
// than in reality. A signal that ends a process also ends the processes that it waits for. A background process ends with its
// session, or when the connection is cut, unless it was started with setsid or nohup: then it lives until it ends, is killed,
// or the host is restarted or closed.
//
// There is no systemctl, systemd-run and the like. The context of a program in Config.Commands ends when the program gets a
// signal, and when the connection is cut.
//
// # Permissions
//
// Directories of the system (/etc, /usr, /opt, /var/lib, /root, ...) belong to root, all others to the login user. Only the
// owner may write. Only the owner may read files there without the read bit for others, and all files in /root. In /tmp and
// /var/tmp every user may create files, and remove their own. chown changes the owner of a file or a tree. These simple rules
// are meant to detect a missing sudo.
//
// Symbolic links are followed within the host, in memory and below a directory. There are no hard links, and no devices except
// /dev/null and /dev/zero.
//
// The built-in programs support the options that provisioning scripts use, and end with code 2 on any other option, because
// they would otherwise behave unlike the real programs. Tests compare them with the real programs.
package sshtest
