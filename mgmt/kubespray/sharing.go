package kubespray

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"github.com/vnfkit/vnfkit/sshexec"
)

// controlLimit is the longest path of the directory in which Ansible's ssh creates its sockets. The address of a socket has
// 108 bytes including the terminating zero (unix(7)). Ansible's name for the socket takes 10 and a slash, and ssh appends
// 17 more while it creates the socket.
const controlLimit = 108 - 1 - 11 - 17

// controlDir returns the directory for the sockets of SSH connections to the nodes of an instance, or "" if its path would
// be too long. Ansible's default is one directory for everything, where a socket is named by user, address and port alone;
// two instances may have nodes for which these are equal.
func controlDir(home, instance string) string {
	sum := sha256.Sum256([]byte(instance))
	dir := path.Join(home, ".vnfkit/cp", hex.EncodeToString(sum[:8]))
	if !goodPath(dir) || len(dir) > controlLimit {
		return ""
	}
	return dir
}

// sharing sets the variables that tell a run how to keep SSH connections open. If the instance has no separate directory
// for sockets, each task opens a new connection.
func (w *directory) sharing(env map[string]string) {
	args := "-C -o ControlMaster=no"
	if w.control != "" {
		args = "-C -o ControlMaster=auto -o ControlPersist=60s"
		// If ansible.cfg names the sockets, the empty second variable restores Ansible's default name.
		env["ANSIBLE_SSH_CONTROL_PATH_DIR"], env["ANSIBLE_SSH_CONTROL_PATH"] = w.control, ""
	}
	env["ANSIBLE_SSH_ARGS"] = args + " -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
}

// unshare removes the sockets, so that the next run opens new connections: an address may belong to another machine by now.
// Connections that are still open end by themselves.
func (w *directory) unshare(ctx context.Context) error {
	if w.control == "" {
		return nil
	}
	return w.host.Exec(ctx, sshexec.Command{Argv: []string{"rm", "-rf", "--", w.control}})
}
