package kubeadm_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/internal/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, kubeadm.New(kubeadm.Config{}))
}
