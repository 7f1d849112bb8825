package vnflcm_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/storetest"
)

func TestMemoryStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(*testing.T) vnflcm.Store { return vnflcm.NewMemoryStore() })
}
