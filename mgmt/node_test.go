package mgmt_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/tosca"
	"github.com/vnfkit/vnfkit/vnflcm"
)

func vnfc(id string, cps ...vnflcm.ConnectionPoint) vnflcm.VNFC {
	return vnflcm.VNFC{ID: id, ResourceID: "vm-" + id, Name: id, CPs: cps}
}

func cp(cpd, fixed, floating string) vnflcm.ConnectionPoint {
	c := vnflcm.ConnectionPoint{CPD: cpd}
	if fixed != "" {
		c.Fixed = []netip.Addr{netip.MustParseAddr(fixed)}
	}
	if floating != "" {
		c.Floating = netip.MustParseAddr(floating)
	}
	return c
}

func TestAccessNodes(t *testing.T) {
	t.Parallel()
	flavour := &tosca.Flavour{CPs: []tosca.ConnectionPoint{{ID: "data", VDU: "worker"}, {ID: "ssh", VDU: "worker"}, {ID: "vip"}}}
	for name, c := range map[string]struct {
		access  mgmt.Access
		flavour *tosca.Flavour
		vnfcs   []vnflcm.VNFC
		want    []string // id, host name, address, SSH address
		dialed  string
		err     string
	}{
		"those with the connection point": {
			access: mgmt.Access{CP: "ssh"},
			vnfcs:  []vnflcm.VNFC{vnfc("a", cp("ssh", "10.0.0.1", "")), vnfc("b", cp("other", "10.0.0.2", "")), vnfc("c", cp("ssh", "10.0.0.3", ""))},
			want:   []string{"a worker-10-0-0-1 10.0.0.1", "c worker-10-0-0-3 10.0.0.3"},
			dialed: "10.0.0.1:22",
		},
		"another one for the nodes": {
			access: mgmt.Access{CP: "ssh", NIC: "data"},
			vnfcs:  []vnflcm.VNFC{vnfc("a", cp("ssh", "10.0.0.1", ""), cp("data", "10.1.0.1", "203.0.113.9"))},
			want:   []string{"a worker-10-1-0-1 10.1.0.1"},
			dialed: "10.0.0.1:22",
		},
		"floating address": {
			access: mgmt.Access{CP: "ssh"},
			vnfcs:  []vnflcm.VNFC{vnfc("a", cp("ssh", "10.0.0.1", "203.0.113.1"))},
			want:   []string{"a worker-10-0-0-1 10.0.0.1"},
			dialed: "203.0.113.1:22",
		},
		"IPv6": {
			access: mgmt.Access{CP: "ssh"},
			vnfcs:  []vnflcm.VNFC{vnfc("a", cp("ssh", "2001:db8::1", ""))},
			want:   []string{"a worker-2001-0db8-0000-0000-0000-0000-0000-0001 2001:db8::1"},
			dialed: "[2001:db8::1]:22",
		},
		"no machines":  {access: mgmt.Access{CP: "ssh"}, flavour: flavour},
		"misspelt":     {access: mgmt.Access{CP: "shs"}, flavour: flavour, err: `mgmt: connection point "shs": the flavour has no such connection point; VDUs have ssh, data`},
		"misspelt NIC": {access: mgmt.Access{CP: "ssh", NIC: "dat"}, flavour: flavour, err: `mgmt: connection point "dat": the flavour has no such connection point; VDUs have data, ssh`},
		"missing":      {access: mgmt.Access{}, flavour: flavour, err: `mgmt: connection point "": the flavour has no such connection point; VDUs have ssh, data`},
		"of no VDU":    {access: mgmt.Access{CP: "vip"}, flavour: flavour, err: `mgmt: connection point "vip": it is a connection point of no VDU; VDUs have ssh, data`},
		"of the machines": {access: mgmt.Access{CP: "sssh"}, flavour: flavour, vnfcs: []vnflcm.VNFC{vnfc("a", cp("floating", "", "203.0.113.1"))},
			err: "VDUs have ssh, data, floating"},
		"no address": {access: mgmt.Access{CP: "ssh"}, vnfcs: []vnflcm.VNFC{vnfc("a", cp("ssh", "", ""))},
			err: "VNFC a has no address at connection point ssh"},
		"no NIC": {flavour: flavour, access: mgmt.Access{CP: "ssh", NIC: "data"}, vnfcs: []vnflcm.VNFC{vnfc("a", cp("ssh", "10.0.0.1", ""))},
			err: "VNFC a (10.0.0.1) has no address at connection point data"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dialed string
			errDial := errors.New("not here")
			pool := sshexec.NewPool(sshexec.Options{Dial: func(_ context.Context, _, addr string) (net.Conn, error) {
				dialed = addr
				return nil, errDial
			}})
			defer func() { _ = pool.Close() }()
			c.access.Login = mgmt.Login{Username: "ubuntu", Password: vnflcm.NewSecret("hunter2")}
			list, err := c.access.Nodes(&vnflcm.Operation{OperationData: vnflcm.OperationData{Flavour: c.flavour, Resources: vnflcm.Resources{VNFCs: c.vnfcs}}}, pool, "worker")
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Fatalf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, n := range list {
				got = append(got, fmt.Sprint(n.ID, " ", n.HostName, " ", n.IP))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			if len(list) == 0 {
				return
			}
			if text := fmt.Sprintf("%v %+v %#v %v", list[0], c.access, c.access, list); strings.Contains(text, "hunter2") {
				t.Errorf("the password is printed: %s", text)
			}
			err = list[0].Root().Run(t.Context(), "true")
			if !errors.Is(err, errDial) || dialed != c.dialed {
				t.Errorf("dialed %q: %v", dialed, err)
			}
		})
	}
}

// Which names and environments the nodes of a VNF get.
func Example() {
	addr := netip.MustParseAddr("10.10.0.7")
	worker := mgmt.Node{IP: addr, HostName: mgmt.HostName("worker", addr)}
	fmt.Print(string(mgmt.HostsFile([]byte("127.0.0.1 localhost\n"), []mgmt.Node{worker})))

	proxy := mgmt.Proxy{
		HTTPProxy:  vnflcm.NewSecret("http://user:secret@proxy.example.com:3128"),
		HTTPSProxy: vnflcm.NewSecret("http://user:secret@proxy.example.com:3128"),
	}
	fmt.Println(proxy.Validate())
	fmt.Println(proxy.Environment("192.168.0.0/16", proxy.NodeNetwork(addr))["no_proxy"])
	// Output:
	// 127.0.0.1 localhost
	// # BEGIN vnfkit
	// 10.10.0.7 worker-10-10-0-7
	// # END vnfkit
	// <nil>
	// 127.0.0.1,localhost,192.168.0.0/16,10.10.0.0/24
}

// The machines of a group are those with its connection point.
func ExampleAccess_Nodes() {
	pool := sshexec.NewPool(sshexec.Options{})
	defer func() { _ = pool.Close() }()
	op := &vnflcm.Operation{OperationData: vnflcm.OperationData{Resources: vnflcm.Resources{VNFCs: []vnflcm.VNFC{
		{ID: "1", CPs: []vnflcm.ConnectionPoint{{CPD: "masterNode_CP1", Fixed: []netip.Addr{netip.MustParseAddr("10.10.0.7")}}}},
		{ID: "2", CPs: []vnflcm.ConnectionPoint{{CPD: "workerNode_CP2", Fixed: []netip.Addr{netip.MustParseAddr("10.10.0.8")}}}},
	}}}}
	workers := mgmt.Access{CP: "workerNode_CP2", Login: mgmt.Login{Username: "ubuntu", Password: vnflcm.NewSecret("ubuntu")}}
	nodes, err := workers.Nodes(op, pool, "worker")
	for _, n := range nodes {
		fmt.Println(n.ID, n.HostName, n.IP)
	}
	fmt.Println(err)
	// Output:
	// 2 worker-10-10-0-8 10.10.0.8
	// <nil>
}
