// Package nodeprep makes a machine ready for kubeadm: it checks the operating system, writes the hosts file, sets up kernel and container
// runtime, and installs packages. It knows of machines only, not of operations on a cluster.
package nodeprep

import "io"

// Settings are what the machines of a cluster are prepared with.
type Settings struct {
	Version   string // of Kubernetes
	Packages  Packages
	Swap      bool                                     // the kubelet was told to run beside swap
	CgroupFS  bool                                     // the kubelet manages cgroups itself, not systemd
	Env       map[string]string                        // the proxy of the machines
	Secrets   []string                                 // of Env
	Artifacts func(name string) (io.ReadCloser, error) // opens files of the package
}
