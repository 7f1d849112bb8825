package kubespray

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"path"

	"github.com/vnfkit/vnfkit/sshexec"
)

// controlLimit is how long the path of the directory may be in which Ansible's ssh has its sockets: the address of one has
// 108 bytes with its end (unix(7)), the name that Ansible gives it 10 and a slash, and ssh makes it with 17 more behind.
const controlLimit = 108 - 1 - 11 - 17

// controlDir is where Ansible keeps its connections to the nodes of an instance. By default that is one directory for all,
// in which a socket is found by user, address and port alone: two instances may have nodes with the same ones. "" where
// the path would be too long.
func controlDir(home, instance string) string {
	sum := sha256.Sum256([]byte(instance))
	dir := path.Join(home, ".vnfkit/cp", hex.EncodeToString(sum[:8]))
	if !goodPath(dir) || len(dir) > controlLimit {
		return ""
	}
	return dir
}

// sharing adds to the environment of a run how it keeps connections. Where they cannot be kept apart from those of others,
// each task makes its own.
func (w *directory) sharing(env map[string]string) {
	args := "-C -o ControlMaster=no"
	if w.control != "" {
		args = "-C -o ControlMaster=auto -o ControlPersist=60s"
		// The latter is for the case that ansible.cfg names the sockets: empty, it is Ansible's own name again.
		env["ANSIBLE_SSH_CONTROL_PATH_DIR"], env["ANSIBLE_SSH_CONTROL_PATH"] = w.control, ""
	}
	env["ANSIBLE_SSH_ARGS"] = args + " -o ServerAliveInterval=15 -o ServerAliveCountMax=4"
}

// unshare has the next run make its connections anew: an address may be that of another machine by now. Those that are
// left end by themselves.
func (w *directory) unshare(ctx context.Context) error {
	if w.control == "" {
		return nil
	}
	return w.host.Exec(ctx, sshexec.Command{Argv: []string{"rm", "-rf", "--", w.control}})
}
