// Package sshexec runs commands on machines over SSH and transfers files in both
// directions. It leaves no processes or temporary files on a machine, except jobs.
//
// A program makes one [Pool], describes each machine by a [Target], and gets a
// [Host] for it:
//
//	pool := sshexec.NewPool(sshexec.Options{})
//	defer pool.Close()
//	host := pool.Host(sshexec.Target{
//		ID:       server.ID, // the host key is stored under this ID
//		Addr:     "10.10.0.13",
//		User:     "ubuntu",
//		Auth:     []sshexec.Auth{sshexec.Agent(""), sshexec.PrivateKeyFile("/etc/vnfm/id_ed25519")},
//		HostKeys: sshexec.AcceptNewHostKeys(store),
//	})
//	if err := host.Wait(ctx); err != nil { ... } // the VM is still booting
//	err := host.Exec(ctx, sshexec.Command{
//		Argv: []string{"kubeadm", "join", "--config", "/run/join.yaml"},
//		Root: true,
//	})
//
// # Log in
//
// Target.Auth is a list of credentials, tried in this order: [Password], [PrivateKey] and [PrivateKeyFile] (with or
// without a passphrase), [Certificate], [Agent], [KeyboardInteractive] for codes. If the host requires two factors, list
// two of them. A machine behind a jump host has a Target.Via, which is a complete Target: with credentials, a host key
// policy, and possibly another Via.
//
// # Host keys
//
// Target.HostKeys has no default. [PinnedHostKeys] trusts keys learned elsewhere, for example from the console log of a
// VM. [KnownHosts] trusts what OpenSSH would trust, and [LearnKnownHosts] also writes the first key of a new machine to the
// file. [AcceptNewHostKeys] trusts the first key that a machine shows and from
// then on only that key. It stores the key under the ID of the VM and not under its address, so that another VM at the
// same address is a new machine. The package requests a host key of the known type. A [HostKeyError] is final and has both
// fingerprints.
//
// # Run commands
//
// A command is a vector of arguments, which reach the program byte for byte whatever they contain, or [Shell] text.
// [Host.Exec] has all options, [Host.Output] returns standard output, and [Host.Run] takes the streams as arguments.
//
// Command.Root and Command.User use sudo. Environment variables and the sudo password are sent on standard input, so
// neither is on a command line of the host. The password is written only after sudo has asked for it with a random prompt
// that no command can know. sudo runs /bin/sh, which reports its process group and then runs the command, so the sudoers file
// has to allow everything. Where the file lists commands, Target.Sudo is [SudoListed]: sudo runs a plain command itself, and its
// log is readable.
//
// The output of a command does not include text that the login shell prints, for example because of an echo in .bashrc. Each
// command reports with a random marker where its standard output and its standard error begin, and the login shell replaces itself
// by the command, so that it prints nothing afterwards. If the marker never comes, the error quotes the login shell.
// SFTP servers that sshd starts through this login shell do not work; then the package starts the server as a command.
//
// When ctx or Command.Timeout ends, the package sends TERM and, after Command.Grace, KILL to the command and its process
// group, for any user of the command. It does so in a second session, so a command of root without a terminal ends as
// well. A started command is never started again: [ErrDisconnected] says that its outcome is unknown.
//
// # Transfer files
//
// [Host.Upload] replaces a file atomically, compares digests, sends nothing that the host already has, and resumes an
// interrupted transfer. [Host.Download] does the same in the other direction, [Host.UploadTree] and [Host.DownloadTree]
// with directories. [Host.ReadFile] is for small files. All of them work for files of root, and on hosts without SFTP.
//
// # Reach the host's network
//
// [Host.DialContext] can be used by net/http, client-go, etcd and gRPC clients.
//
// # Limits for data of a host
//
// Data from a host is bounded, so that a broken or hostile host cannot fill memory or disk. Beyond a limit the error is a
// *[LimitError], which is an [ErrTooLarge].
//
//	Output, ReadFile, Jobs         1 MiB
//	Exec, with Stdout or Stderr    the caller's writers, 32 KiB at once
//	ExitError.Stderr               the last 4 KiB
//	Login shell, before a command  1 MiB on each stream
//	Download                       the size that the host states first
//	DownloadTree                   Tree.Limits: 100,000 entries, 16 MiB of names, 100 levels, 64 GiB
//	UploadTree, digests            one line of at most 1 MiB for each requested file
//	Job.Follow                     16 MiB in one answer, then the next request
//
// # Many hosts
//
// [Each] calls a function for many hosts, [Map] also collects its results in order. A [Fan] sets how many hosts are called
// at once and whether the first failure ends all calls.
//
// # Jobs
//
// [Host.StartJob] starts a long-running command: it continues when the connection, the pool or this process ends, on hosts
// with and without systemd. [Host.Job] finds it by its name, from any process. [Job.Follow] reads its output from the
// offset at which the last reader stopped, [Job.Wait] returns its exit code.
//
// # This machine
//
// [Pool.Local] returns a Host for the machine of this process, so that the same code works locally and over SSH.
//
// # Connections
//
// Hosts with the same ID, Addr, User, Auth, Via and Trusted share one connection of a pool. The pool opens the connection when it is
// first needed, closes it when it is idle, and replaces it when it breaks. A connection carries Options.Sessions sessions
// at once, or fewer if the host allows fewer. At most Options.LoginsPerServer logins run on one server at a time. If a host does
// not answer for Options.KeepAlive, its connection is closed. [Pool.Close] waits until all work of the pool has ended.
//
// # Errors
//
// Errors name the host and support errors.Is and errors.As, also the errors that [Each] joins: [ExitError] for a command
// that failed, [HostKeyError] for an unexpected host key, and the sentinels from [ErrConnect] on. Each sentinel documents
// whether retrying can help.
//
// # Secrets
//
// Credentials print as ***. Command.Secrets are masked in errors and events. Every user of the host who may list processes
// can see Argv: put secrets in Env or Stdin.
//
// # Requirements
//
// The login shell must understand single quotes as a POSIX shell does; csh and fish do for arguments without newlines and
// backslashes. A restricted shell, which refuses exec, can run commands by sudo, and takes a second session for each of them. The
// host needs /bin/sh and the usual small programs of GNU or busybox. Jobs, and ending the children of a cancelled command, need
// Linux. Package [github.com/vnfkit/vnfkit/sshexec/sshtest] has hosts for tests.
package sshexec
