package kubespray_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubespray"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, kubespray.New(kubespray.Config{}))
}
