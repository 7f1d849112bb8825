package expose_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, expose.New(expose.Config{}))
}
