package objects_test

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/kubernetes/internal/objects"
)

// gate is before the API server, and can be shut.
type gate struct {
	net.Listener
	to    string
	mu    sync.Mutex
	conns []net.Conn
	shut  bool
	group sync.WaitGroup
}

func newGate(t *testing.T, to string) *gate {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{Listener: l, to: to}
	g.group.Go(g.serve)
	t.Cleanup(func() {
		g.set(true)
		l.Close()
		g.group.Wait()
	})
	return g
}

// set opens or shuts the gate; who is through is cut.
func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for _, c := range g.conns {
		c.Close()
	}
	g.conns = nil
}

func (g *gate) serve() {
	for {
		conn, err := g.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		if g.shut {
			conn.Close()
			g.mu.Unlock()
			continue
		}
		server, err := new(net.Dialer).DialContext(context.Background(), "tcp", g.to)
		if err != nil {
			conn.Close()
			g.mu.Unlock()
			continue
		}
		g.conns = append(g.conns, conn, server)
		g.mu.Unlock()
		for from, to := range map[net.Conn]net.Conn{conn: server, server: conn} {
			g.group.Go(func() {
				_, _ = io.Copy(to, from)
				to.Close()
			})
		}
	}
}

// The API server is away for some seconds while objects are applied, waited for and deleted.
func TestOutage(t *testing.T) {
	w := newWorld(t)
	var group sync.WaitGroup
	defer group.Wait()
	outage := func(after time.Duration) {
		group.Go(func() {
			time.Sleep(after)
			w.gate.set(true)
			time.Sleep(3 * time.Second)
			w.gate.set(false)
		})
	}
	outage(20 * time.Millisecond)
	refs := objects.Refs(w.apply(workload("Deployment", "web", "  replicas: 3\n") + workload("Deployment", "cache", "") +
		"---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\napiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"))
	group.Wait()
	outage(0)
	if err := w.Await(w.context(time.Minute), refs, nil); err != nil {
		t.Fatal(err)
	}
	group.Wait()
	outage(50 * time.Millisecond)
	if err := w.Delete(w.context(time.Minute), refs, objects.DeleteOptions{Owner: w.owner}); err != nil {
		t.Fatal(err)
	}
	for _, r := range refs {
		if w.get(r) != nil {
			t.Errorf("%s is there", r)
		}
	}
}
