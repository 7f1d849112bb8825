// Command pause is the first container of a pod. It keeps the namespaces of the pod alive and reaps orphaned processes. With -v it
// prints its version and exits, as Kubernetes' pause does: the Job with which "kubeadm upgrade" checks a cluster runs "pause -v".
package main

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

var version = "dev" // set by build.sh

func main() {
	if slices.Contains(os.Args[1:], "-v") {
		_, _ = os.Stdout.WriteString("pause " + version + "\n")
		return
	}
	c := make(chan os.Signal, 8)
	signal.Notify(c, syscall.SIGINT, syscall.SIGTERM, syscall.SIGCHLD)
	for s := range c {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if p, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); p <= 0 || err != nil {
				break
			}
		}
	}
}
