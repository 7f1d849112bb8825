package kube

import (
	"context"
	_ "embed"
	"path/filepath"
)

//go:embed nfsd.py
var nfsServer string

// NFS is what machines with NFS take. nfs.sh says what is where.
type NFS struct{ dir string }

// BuildNFS makes it, or finds that of an earlier run.
func BuildNFS(ctx context.Context) (NFS, error) {
	dir, err := script(ctx, "nfs.sh")
	return NFS{dir}, err
}

// Over is a tree of Parts with an NFS server and an NFS client that need nothing of the kernel, for vmhost.Spec.
func (n NFS) Over(tree string) string { return filepath.Join(n.dir, "layer") + ":" + tree }

// Source is the line of sources.list for the packages of NFS. The server of the repositories has this address.
func (n NFS) Source(repositories, key string) string {
	return "deb [signed-by=" + key + "] " + repositories + "/nfs/debian/ ./\n"
}

// ServerFiles let the unit nfs-server be a server that needs nothing of the kernel: it serves what exportfs exports, and
// follows it.
func (NFS) ServerFiles() map[string]string {
	const program = "/usr/local/lib/nfsd.py"
	return map[string]string{
		program: nfsServer,
		// As in Debian's unit, but for what starts the server of the kernel.
		"/etc/systemd/system/nfs-server.service": "[Unit]\nAfter=network-online.target local-fs.target\n" +
			"[Service]\nExecStartPre=-/usr/sbin/exportfs -r\nExecStart=/usr/bin/python3 " + program + "\n[Install]\nWantedBy=multi-user.target\n",
		"/etc/systemd/system/nfs-exports.service":          "[Service]\nType=oneshot\nExecStart=/usr/bin/python3 " + program + " changed\n",
		"/etc/systemd/system/nfs-exports.path":             "[Path]\nPathChanged=/var/lib/nfs/etab\n",
		"/etc/systemd/system/multi-user.target.d/nfs.conf": "[Unit]\nWants=nfs-exports.path\n",
	}
}
