// Package nodeprep prepares a machine for kubeadm: it checks the operating system, writes the hosts file, sets up the
// kernel and the container runtime, and installs packages. It works on given machines and does not depend on operations of
// a cluster.
package nodeprep

import (
	"context"
	"io"
)

// Settings are the settings with which all machines of a cluster are prepared.
type Settings struct {
	Version string // version of Kubernetes
	// KubeletVersion is the version of the kubelet while some API servers are older than Version. Default: Version.
	KubeletVersion string
	Packages       Packages
	Before         *Packages         // source of packages of KubeletVersion, if it is another one than Packages
	Repository     string            // registry and path of the images of Kubernetes; "": kubeadm's default
	Swap           bool              // keep swap on, because the kubelet is configured to accept it
	CgroupFS       bool              // the kubelet manages cgroups itself, without systemd
	Env            map[string]string // the proxy of the machines
	Secrets        []string          // secrets in Env
	Warn           func(ctx context.Context, message string)
	Artifacts      func(name string) (io.ReadCloser, error) // opens files of the package
}
