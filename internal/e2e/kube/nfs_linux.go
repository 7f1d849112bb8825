package kube

import (
	"context"
	_ "embed"
	"path/filepath"
)

//go:embed nfsd.py
var nfsServer string

// NFS is a directory with the programs of NFS for machines. nfs.sh describes its content.
type NFS struct{ dir string }

// BuildNFS builds the directory, or returns the directory of an earlier run.
func BuildNFS(ctx context.Context) (NFS, error) {
	dir, err := script(ctx, "nfs.sh")
	return NFS{dir}, err
}

// Over returns a tree of Parts with an NFS server and an NFS client that run in user space, for vmhost.Spec.Tree.
func (n NFS) Over(tree string) string { return filepath.Join(n.dir, "layer") + ":" + tree }

// Source returns the line of sources.list for the packages of NFS on the server with the URL repositories.
func (n NFS) Source(repositories, key string) string {
	return "deb [signed-by=" + key + "] " + repositories + "/nfs/debian/ ./\n"
}

// ServerFiles returns files that replace the unit nfs-server by a server in user space. The server serves the directories
// that exportfs exports, and follows changes.
func (NFS) ServerFiles() map[string]string {
	const program = "/usr/local/lib/nfsd.py"
	return map[string]string{
		program: nfsServer,
		// As Debian's unit, without the commands that start the server of the kernel.
		"/etc/systemd/system/nfs-server.service": "[Unit]\nAfter=network-online.target local-fs.target\n" +
			"[Service]\nExecStartPre=-/usr/sbin/exportfs -r\nExecStart=/usr/bin/python3 " + program + "\n[Install]\nWantedBy=multi-user.target\n",
		"/etc/systemd/system/nfs-exports.service":          "[Service]\nType=oneshot\nExecStart=/usr/bin/python3 " + program + " changed\n",
		"/etc/systemd/system/nfs-exports.path":             "[Path]\nPathChanged=/var/lib/nfs/etab\n",
		"/etc/systemd/system/multi-user.target.d/nfs.conf": "[Unit]\nWants=nfs-exports.path\n",
	}
}
