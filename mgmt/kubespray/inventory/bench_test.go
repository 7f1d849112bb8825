package inventory_test

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/mgmt/kubespray/inventory"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// cluster returns an inventory of three control-plane nodes and n-3 workers.
func cluster(n int) inventory.Inventory {
	var inv inventory.Inventory
	for i := range n {
		role, roles := "worker", []inventory.Role{inventory.Worker}
		if i < 3 {
			role, roles = "master", []inventory.Role{inventory.ControlPlane, inventory.Etcd}
		}
		a := netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)}).Next()
		inv.Nodes = append(inv.Nodes, inventory.Node{
			Name: fmt.Sprintf("%s-10-%d-%d-%d", role, a.As4()[1], a.As4()[2], a.As4()[3]), Address: a, IP: a,
			User: "ubuntu", Password: vnflcm.NewSecret(fmt.Sprint("password", i)), Roles: roles,
		})
	}
	return inv
}

func BenchmarkInventory(b *testing.B) {
	for name, f := range forms(inventory.Options{}) {
		for _, n := range []int{50, 500, 5000} {
			inv := cluster(n)
			files := generate(b, f, inv)
			var bytes int
			for _, each := range files {
				bytes += len(each.Content)
			}
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				start := time.Now()
				for b.Loop() {
					if _, err := f.Generate(inv); err != nil {
						b.Fatal(err)
					}
				}
				ms := float64(time.Since(start).Microseconds()) / 1000 / float64(b.N)
				b.ReportMetric(ms, "ms/op")
				b.ReportMetric(float64(bytes)/float64(n), "bytes/node")
				b.ReportMetric(ms*1000/float64(n), "µs/node")
			})
		}
	}
}
