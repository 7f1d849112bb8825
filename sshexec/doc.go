// Package sshexec runs commands on machines over SSH, and puts files there.
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
//		Auth:     []sshexec.Auth{key},
//		HostKeys: sshexec.AcceptNewHostKeys(store),
//	})
//	if err := host.Wait(ctx); err != nil { ... } // the VM is still booting
//	err := host.Exec(ctx, sshexec.Command{
//		Argv: []string{"kubeadm", "join", "--config", "/run/join.yaml"},
//		Root: true,
//	})
//
// # Commands
//
// A command is a vector of arguments, which reach the program byte for byte
// whatever they contain, or, said so by its type, [Shell] text. [Host.Run],
// [Host.Exec] and [Host.Output] differ in how much they let one say. [Each] does
// something on many hosts at once.
//
// Root is reached through sudo. Environment variables and the sudo password
// travel on standard input: neither is on a command line of the host, and the
// password is written only once sudo has asked for it.
//
// # Files
//
// [Host.Upload] replaces a file at once or not at all, and compares digests.
// [Host.ReadFile] reads small files. [Host.DialContext] reaches an API that only
// the host can see.
//
// # Connections
//
// Hosts with the same ID, Addr and User share one connection of a pool, which
// is made when it is first needed and made anew when it broke. A command that
// was started is never started again: [ErrDisconnected] says that its outcome
// is unknown.
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
// /bin/sh, and for files sha256sum, stat, chmod, chown and mv. Package
// [github.com/vnfkit/vnfkit/sshexec/sshtest] has hosts to test with.
package sshexec
