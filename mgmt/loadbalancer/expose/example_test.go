package expose_test

import (
	"fmt"

	"github.com/vnfkit/vnfkit/mgmt/loadbalancer/expose"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// A VNFM offers the driver under the name that VNFDs of CNFs have for it.
func Example() {
	pool := sshexec.NewPool(sshexec.Options{})
	defer func() { _ = pool.Close() }()
	drivers := map[string]vnflcm.MgmtDriver{"mgmt-drivers-cnf-nodeport": expose.New(expose.Config{Pool: pool})}
	_, exposes := drivers["mgmt-drivers-cnf-nodeport"].Hooks()[vnflcm.InstantiateEnd]
	fmt.Println(exposes)
	// Output: true
}
