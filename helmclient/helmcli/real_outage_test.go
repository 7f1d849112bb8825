package helmcli_test

import (
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// gate is a way to the API server that can be shut.
type gate struct {
	mu   sync.Mutex
	shut bool
	open map[net.Conn]bool
}

func (g *gate) set(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	for c := range g.open {
		if shut {
			_ = c.Close()
		}
	}
}

func (g *gate) serve(ctx context.Context, l net.Listener, to string) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		g.mu.Lock()
		shut := g.shut
		g.open[c] = true
		g.mu.Unlock()
		server, err := new(net.Dialer).DialContext(ctx, "tcp", to)
		if shut || err != nil {
			_ = c.Close()
			continue
		}
		go func() { _, _ = io.Copy(server, c); _ = server.Close() }()
		go func() { _, _ = io.Copy(c, server); _ = c.Close() }()
	}
}

// TestRealOutage has the API server out of reach for a while as helm waits: nothing stays pending.
func TestRealOutage(t *testing.T) {
	c := real(t)
	out, err := exec.CommandContext(t.Context(), "kubectl", "--kubeconfig", kubeconfig(t), "config", "view", "--raw", "-o", "jsonpath={.clusters[0].cluster.server}").Output()
	if err != nil {
		t.Fatal(err)
	}
	server, err := url.Parse(string(out))
	if err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	g := &gate{open: map[net.Conn]bool{}}
	go g.serve(t.Context(), l, server.Host)
	config, err := os.ReadFile(kubeconfig(t))
	if err != nil {
		t.Fatal(err)
	}
	file := t.TempDir() + "/kubeconfig"
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(config), server.Host, l.Addr().String())), 0o600); err != nil {
		t.Fatal(err)
	}
	through, err := helmcli.New(helmcli.Config{Machines: []helmcli.Machine{{Name: "m1", Runner: shell{}}}, Dir: t.TempDir(), Kubeconfig: file})
	if err != nil {
		t.Fatal(err)
	}
	n := helmclient.Name{Release: "outage"}
	uninstalled(t, c, n)
	t.Cleanup(func() { uninstalled(t, c, n) })
	time.AfterFunc(2*time.Second, func() { g.set(true) })
	time.AfterFunc(12*time.Second, func() { g.set(false) })
	_, err = through.Install(t.Context(), helmclient.Install{Name: n, Chart: helmclient.Chart{Archive: web(t, nil)}, Values: nowhere,
		Wait: helmclient.Wait{Ready: true, Timeout: 8 * time.Second}})
	t.Log(err)
	r, statusErr := c.Status(t.Context(), n)
	if err == nil || statusErr != nil || r.State != helmclient.Failed {
		t.Error(err, r, statusErr)
	}
}
