// Package sshexec runs commands on machines over SSH, carries files there and
// back, and leaves nothing behind that it was not told to leave.
//
// A program makes one [Pool], describes each machine by a [Target], and gets a
// [Host] for it:
//
//	pool := sshexec.NewPool(sshexec.Options{})
//	defer pool.Close()
//	host := pool.Host(sshexec.Target{
//		ID:       server.ID, // the host key is kept under it
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
// Target.Auth is a list of credentials, tried in its order: [Password],
// [PrivateKey] and [PrivateKeyFile] (with a passphrase or without), [Certificate],
// [Agent], [KeyboardInteractive] for codes; two of them where the host wants two
// factors. A machine behind a jump host has a Target.Via, which is a Target like
// any other: with its own credentials, host key, and perhaps a Via.
//
// # Know the machine
//
// There is no default for Target.HostKeys. [PinnedHostKeys] trusts keys learned
// elsewhere, such as from the console log of a VM; [KnownHosts] what OpenSSH
// would; [AcceptNewHostKeys] the first key that a machine shows, from then on only
// that. A key kept under the ID of a VM, not under an address, is not met again by
// another VM at that address. A host is asked for the kind of key that is known. A
// [HostKeyError] is final and has both fingerprints.
//
// # Run commands
//
// A command is a vector of arguments, which reach the program byte for byte
// whatever they contain, or, said so by its type, [Shell] text. [Host.Run],
// [Host.Exec] and [Host.Output] differ in how much they let one say.
//
// Command.Root and Command.User go through sudo. Environment variables and the
// sudo password travel on standard input: neither is on a command line of the
// host, and the password is written only once sudo has asked for it, with a prompt
// that no command can know.
//
// When ctx or Command.Timeout ends, the command and everything in its process
// group is sent TERM and, after Command.Grace, KILL, whoever it runs as. That is
// done in another session, so a command of root's that has no terminal ends as
// well. A command that was started is never started again: [ErrDisconnected] says
// that its outcome is unknown.
//
// # Carry files
//
// [Host.Upload] replaces a file at once or not at all, compares digests, sends
// nothing that is there already, and goes on where a cut transfer stopped.
// [Host.Download] does the same the other way, [Host.UploadTree] and
// [Host.DownloadTree] with directories, [Host.ReadFile] is for small files. All of
// it works for root's files, too, and where the host has no SFTP.
//
// # Reach what only the host sees
//
// [Host.DialContext] fits net/http, client-go, etcd and gRPC clients.
//
// # Talk to many
//
// [Each] calls a function for many hosts, [Map] collects its results in their
// order; a [Fan] says how many at once and whether the first failure ends it all.
//
// # Let it run
//
// [Host.StartJob] starts what takes an hour: it goes on when the connection, the
// pool or this process ends, with and without systemd on the host. [Host.Job]
// finds it again by its name, from any process; [Job.Follow] reads its output from
// where the last reader stopped, [Job.Wait] has its exit code.
//
// # This machine
//
// [Pool.Local] is a Host that is this machine: code that works over SSH needs no
// second path.
//
// # Connections
//
// Hosts with the same ID, Addr, User, Auth and Via share one connection of a pool,
// which is made when it is first needed, closed when it is idle, and made anew when
// it broke. It carries Options.Sessions at once, and adapts to hosts that allow
// fewer. No more than Options.Startups logins go to one server at a time. A host
// that owes a sign of life for Options.KeepAlive is given up. [Pool.Close] waits
// until nothing of the pool runs any more.
//
// # Errors
//
// Errors name the host and work with errors.Is and errors.As, also those that
// [Each] joins: [ExitError] for a command that failed, [HostKeyError] for a
// machine that is another one, and the sentinels from [ErrConnect] on, each of
// which says whether trying again can help.
//
// # Secrets
//
// Credentials print as ***. What Command.Secrets names is masked in errors and
// events. Anything in Argv can be seen on the host by whoever may list processes
// there: put secrets in Env or Stdin.
//
// # Limits
//
// The login shell must understand single quotes as a POSIX shell does; csh and
// fish do for arguments without newlines and backslashes. The host needs
// /bin/sh and the usual small programs of GNU or busybox; jobs and the end of what
// a cancelled command has started need Linux. Package
// [github.com/vnfkit/vnfkit/sshexec/sshtest] has hosts to test with.
package sshexec
