// Package linux has operations on machines for management drivers, over SSH and as root: write files,
// install packages of Debian and Ubuntu, start units of systemd.
//
//	m := linux.AsRoot(node.SSH)
//	err := linux.Packages{Machine: m, Env: proxy}.Install(ctx, "haproxy", "keepalived")
//	err = m.Write(ctx, "/etc/haproxy/haproxy.cfg", config, 0o644)
//	err = m.Unit(ctx, "reload-or-restart", "haproxy")
//
// All operations can be repeated: a call completes the work of an earlier call that was interrupted.
package linux
