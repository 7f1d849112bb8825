package sandbox_test

import (
	"net"
	"testing"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestFloatingAddresses: a machine answers at its floating address, which it has still after a heal and in a world that is opened again.
func TestFloatingAddresses(t *testing.T) {
	t.Parallel()
	config := sandbox.Config{Dir: t.TempDir(), Virtual: []string{"vip_CP"},
		Floating: map[string]string{"workerNode_FloatingIP": "workerNode_CP2", "vip_CP_FloatingIP": "vip_CP"}}
	s := open(t, config)
	id := s.instance(0)
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{InstanceID: id}}
	pkg, err := packages.Open(t.Context(), "", sampleVNFD, "")
	if err != nil {
		t.Fatal(err)
	}
	if op.Flavour, err = pkg.VNFD().Flavour("simple"); err != nil {
		t.Fatal(err)
	}
	floating := func(world *sandbox.World) (out string) {
		t.Helper()
		resources, err := world.Resources(t.Context(), op)
		if err != nil {
			t.Fatal(err)
		}
		virtual := resources.ConnectionPoints
		if len(virtual) != 2 || virtual[1].CPD != "vip_CP_FloatingIP" || !virtual[1].Floating.IsValid() || virtual[0].Floating != virtual[1].Floating ||
			virtual[0].Fixed[0] == virtual[0].Floating {
			t.Errorf("the virtual address is %+v", virtual)
		}
		for _, v := range resources.VNFCs {
			named, has := v.CP("workerNode_FloatingIP")
			if of, _ := v.CP("workerNode_CP2"); has != (v.VDU == "workerNode") || named.Floating != of.Floating || named.ResourceID != of.ResourceID {
				t.Errorf("%s has %+v and %+v", v.Name, of, named)
			}
			if has {
				out = named.Floating.String()
			}
		}
		conn, err := world.Dial(t.Context(), "tcp", net.JoinHostPort(out, "22"))
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		return out
	}
	before := floating(s.world)
	s.must(s.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
	if after := floating(s.world); after != before {
		t.Errorf("the floating address was %s and is %s after a heal", before, after)
	}
	if err := s.world.Close(); err != nil {
		t.Fatal(err)
	}
	world, err := sandbox.Open(sandbox.Config{Dir: config.Dir})
	if err != nil {
		t.Fatal(err)
	}
	defer world.Close()
	if after := floating(world); after != before {
		t.Errorf("the floating address was %s and is %s in the world that was opened again", before, after)
	}
}
