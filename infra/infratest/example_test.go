package infratest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/vnfkit/vnfkit/infra/infratest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// cloud is the VIM of the driver.
type cloud struct{ machines []string }

func (c *cloud) driver() vnflcm.InfraDriver                     { return nil }
func (c *cloud) list(context.Context) (ids []string, err error) { return c.machines, nil }

// A test of a driver opens a VIM, here one with a machine that belongs to no VNF.
func Example() {
	setup := infratest.Setup{Open: func(testing.TB) infratest.World {
		c := &cloud{machines: []string{"foreign"}}
		return infratest.World{VIM: vnflcm.VimConnectionInfo{VimType: "mycloud"}, Driver: c.driver, Machines: c.list}
	}}
	_ = func(t *testing.T) { infratest.Run(t, setup) } // TestDriver
	ids, err := setup.Open(nil).Machines(context.Background())
	fmt.Println(ids, err)
	// Output: [foreign] <nil>
}
