package kubeadm_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, kubeadm.New(kubeadm.Config{}))
}
