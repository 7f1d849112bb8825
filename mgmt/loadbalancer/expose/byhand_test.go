package expose_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/internal/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, expose.New(expose.Config{}))
}
