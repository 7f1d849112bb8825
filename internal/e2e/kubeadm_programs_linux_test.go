package e2e_test

import (
	"path/filepath"
	"testing"
)

// TestKubeadmPrograms lets packages prove themselves on the real etcd and Kubernetes API.
func TestKubeadmPrograms(t *testing.T) {
	t.Parallel()
	programs := needKubeadm(t).Programs()
	etcd := "VNFKIT_ETCD=" + filepath.Join(programs, "etcd")
	proves(t, "mgmt/kubeadm/etcd", "Real", etcd)
	proves(t, "internal/kubesim", "^TestEtcdContract$", etcd)
	proves(t, "mgmt/cluster", "Real", "VNFKIT_KUBERNETES="+programs)
}
