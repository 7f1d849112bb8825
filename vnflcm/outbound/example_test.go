package outbound_test

import (
	"fmt"
	"net/netip"

	"github.com/vnfkit/vnfkit/vnflcm/outbound"
)

func ExamplePolicy() {
	policy := outbound.Except(netip.MustParsePrefix("127.0.0.0/8")) // a test setup on this machine
	for _, host := range []string{"127.0.0.1", "10.0.0.7", "169.254.169.254"} {
		fmt.Println(host, policy.CheckHost(host, 443))
	}
	// Output:
	// 127.0.0.1 <nil>
	// 10.0.0.7 <nil>
	// 169.254.169.254 the address is not allowed: 169.254.169.254 belongs to this machine, to its links or to a metadata service
}
