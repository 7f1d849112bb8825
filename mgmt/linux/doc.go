// Package linux is what management drivers do on a machine that they have set up over SSH, as root: write files,
// install packages of Debian and Ubuntu, start units of systemd.
//
//	m := linux.On(node.SSH)
//	err := linux.Packages{Machine: m, Env: proxy}.Install(ctx, "haproxy", "keepalived")
//	err = m.Write(ctx, "/etc/haproxy/haproxy.cfg", config, 0o644)
//	err = m.Unit(ctx, "reload-or-restart", "haproxy")
//
// All of it may be repeated: whatever a process that died has left half done is made good by the next call.
package linux
