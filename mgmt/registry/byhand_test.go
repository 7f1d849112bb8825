package registry_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/mgmt/registry"
)

func TestOperationByHand(t *testing.T) {
	t.Parallel()
	mgmttest.OperationByHand(t, registry.New(registry.Config{}))
}
