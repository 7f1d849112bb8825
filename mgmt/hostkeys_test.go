package mgmt_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"

	"github.com/vnfkit/vnfkit/infra/sandbox"
	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/memconn"
	"github.com/vnfkit/vnfkit/mgmt"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/sshexec/sshtest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// greeter is a management driver that logs in to the workers.
type greeter struct{ pool *sshexec.Pool }

func (greeter) Validate(context.Context, *vnflcm.Operation) error { return nil }

func (g greeter) Hooks() vnflcm.Hooks {
	nothing := func(context.Context, *vnflcm.Operation) error { return nil }
	return vnflcm.Hooks{vnflcm.InstantiateEnd: g.greet, vnflcm.HealEnd: g.greet, vnflcm.HealStart: nothing, vnflcm.ScaleStart: nothing,
		vnflcm.ScaleEnd: nothing, vnflcm.TerminateStart: nothing, vnflcm.TerminateEnd: nothing}
}

func (g greeter) greet(ctx context.Context, op *vnflcm.Operation) error {
	var params struct {
		HostKeys mgmt.HostKeys `json:"host_keys"`
	}
	if _, err := op.Params.Decode(&params); err != nil {
		return err
	}
	access := mgmt.Access{CP: "workerNode_CP2", Login: mgmt.Login{Username: "ubuntu", Password: vnflcm.NewSecret("ubuntu")}, HostKeys: params.HostKeys}
	nodes, err := access.Nodes(op, g.pool, "worker")
	if err != nil {
		return err
	}
	return vnflcm.Each(ctx, 0, nodes, func(ctx context.Context, n mgmt.Node) error {
		return n.SSH.Run(ctx, []string{"true"}, nil, nil, nil)
	})
}

// telling is a sandbox that tells the given host key of each machine, "" for none.
type telling struct {
	*sandbox.World
	key string
}

func (t telling) Resources(ctx context.Context, op *vnflcm.Operation) (vnflcm.Resources, error) {
	out, err := t.World.Resources(ctx, op)
	for i := range out.VNFCs {
		out.VNFCs[i].HostKey = t.key
	}
	return out, err
}

// site answers at the addresses of all machines: one host until the VNF is healed, another one afterwards.
type site struct {
	mu      sync.Mutex
	current *sshtest.Host
}

func (s *site) dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	near, far := memconn.Pair(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 22})
	s.current.Serve(far)
	return near, nil
}

// TestHostKeysOfMachines logs in to machines whose keys come from each source, before and after a heal. A host with another key, such
// as a man in the middle, gets no password.
func TestHostKeysOfMachines(t *testing.T) {
	t.Parallel()
	first, second := sshtest.NewKey(t, ssh.KeyAlgoED25519), sshtest.NewKey(t, ssh.KeyAlgoED25519)
	for _, tt := range []struct {
		name     string
		told     string   // by the VIM
		listed   []string // by the request
		relisted []string // by the heal request
		refused  string   // the operation that meets a key it does not trust
		warned   int
	}{
		{name: "nothing is known", warned: 2},
		{name: "the VIM tells the key", told: first.Public, refused: "heal"},
		{name: "the VIM tells another key", told: second.Public, refused: "instantiate"},
		{name: "listed", listed: []string{first.Public, second.Public}},
		{name: "listed when healing", listed: []string{first.Public}, relisted: []string{second.Public}},
		{name: "not listed when healing", listed: []string{first.Public}, refused: "heal"},
		{name: "not listed", listed: []string{second.Public}, refused: "instantiate"},
		{name: "listed, and the VIM tells another key", told: second.Public, listed: []string{first.Public, second.Public}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			before, after := sshtest.Start(t, sshtest.Config{HostKey: first.PEM}), sshtest.Start(t, sshtest.Config{HostKey: second.PEM})
			at := &site{current: before}
			l := mgmttest.Open(t, mgmttest.Setup{Sandbox: sandbox.Config{Virtual: []string{"vip_CP"}}, Package: "../examples/packages/k8s-cluster", Dial: at.dial,
				Drivers: func(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
					return map[string]vnflcm.MgmtDriver{"mgmt-drivers-kubernetes": greeter{pool}}
				}})
			m := l.Process(func(c *vnflcm.Config) { c.Infra["sandbox"] = telling{l.World, tt.told} })
			listed := func(keys []string) vnflcm.Params {
				p, err := vnflcm.NewParams(map[string]any{"host_keys": keys})
				if err != nil {
					t.Fatal(err)
				}
				return p
			}
			id := l.Created()
			refused := ""
			begin := func(name string, host *sshtest.Host, opID string, err error) bool {
				_, err = l.End(opID, err, m)
				if err == nil {
					return true
				}
				if !errors.Is(err, sshexec.ErrHostKey) || !strings.Contains(err.Error(), "workerNode-0: ") {
					t.Errorf("%s: %v", name, err)
				}
				if len(host.Commands()) > 0 {
					t.Errorf("%s: the machine was used", name)
				}
				refused = name
				return false
			}
			opID, err := m.Instantiate(t.Context(), id, l.Request("instantiate_sandbox.json", clustertest.Sized("simple", 0),
				func(r *vnflcm.InstantiateVnfRequest) { r.AdditionalParams = listed(tt.listed) }))
			if begin("instantiate", before, opID, err) {
				worker := l.VNFCs(id)[slices.IndexFunc(l.VNFCs(id), func(v vnflcm.VnfcResourceInfo) bool { return v.VduID == "workerNode" })]
				at.mu.Lock()
				at.current = after
				at.mu.Unlock()
				request := vnflcm.HealVnfRequest{VnfcInstanceID: []string{worker.ID}}
				if tt.relisted != nil {
					request.AdditionalParams = listed(tt.relisted)
				}
				opID, err = m.Heal(t.Context(), id, request)
				begin("heal", after, opID, err)
			}
			if diff := cmp.Diff(tt.refused, refused); diff != "" {
				t.Error(diff)
			}
			if got := strings.Count(l.Log(), "is trusted because it is the first one seen"); got != tt.warned {
				t.Errorf("%d warnings:\n%s", got, l.Log())
			}
			if tt.warned > 0 && !strings.Contains(l.Log(), `"name":"workerNode`) {
				t.Errorf("the warning does not name the machine:\n%s", l.Log())
			}
		})
	}
}
