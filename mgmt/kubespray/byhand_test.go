package kubespray_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/internal/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/kubespray"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, kubespray.New(kubespray.Config{}))
}
