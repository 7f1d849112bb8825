package sandbox_test

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/sshexec"
)

// TestBalancer: haproxy serves what it has read, by what is alive.
func TestBalancer(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	names, by := k.nodes()
	master, worker, lb := by[names[0]], by[names[1]], by[names[2]]
	k.inventory(nil, names[2])
	k.mustPlay("cluster.yml")
	root := func(m machine, stdin string, argv ...string) error {
		return k.login(m.Address, "ubuntu", "ubuntu").Exec(t.Context(), sshexec.Command{Argv: argv, Root: true, Stdin: strings.NewReader(stdin)})
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(root(master, web, "kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf", "apply", "-f", "-"))
	if got := k.get(t, master.Address, "30080"); !strings.HasPrefix(got, "web-") || !strings.HasSuffix(got, " on "+names[1]+"\n") {
		t.Fatalf("the node port answers %q", got)
	}
	config := "defaults\n    mode tcp\n    retries 3\n\nfrontend web\n    bind 0.0.0.0:30080\n    default_backend web\n\nbackend web\n    balance roundrobin\n    default-server check inter 1s fall 3\n"
	write := func(servers string) {
		must(root(lb, config+servers, "sh", "-c", "cat >/etc/haproxy/haproxy.cfg"))
		must(root(lb, "", "haproxy", "-c", "-f", "/etc/haproxy/haproxy.cfg"))
	}
	must(root(lb, "", "apt-get", "update"))
	must(root(lb, "", "apt-get", "install", "-y", "haproxy"))
	must(root(lb, "", "mkdir", "-p", "/etc/haproxy"))
	write("    server a " + worker.Address + ":30080\n")
	if got := k.get(t, lb.Address, "30080"); got != "refused" {
		t.Errorf("what haproxy has not read answers %q", got)
	}
	must(root(lb, "", "systemctl", "reload-or-restart", "haproxy"))
	if got := k.get(t, lb.Address, "30080"); !strings.HasPrefix(got, "web-") {
		t.Errorf("the load balancer answers %q", got)
	}
	if err := root(lb, "frontend x\n    bind *:99999\n    option nonsense\nbackend x\n    server a 10.0.0.1:1 chek\n", "haproxy", "-c", "-f", "/dev/stdin"); err == nil {
		t.Error("haproxy takes anything")
	}
	must(k.world.Stop(worker.Resource))
	if got := k.get(t, lb.Address, "30080"); got != "closed" {
		t.Errorf("without a server the load balancer answers %q", got)
	}
	if got := k.get(t, master.Address, "30080"); got != "refused" {
		t.Errorf("without a ready pod the node port answers %q", got)
	}
}

// TestBalancedAPI: a frontend at any port leads to the API servers that are ready.
func TestBalancedAPI(t *testing.T) {
	t.Parallel()
	k := newControl(t, nil)
	names, by := k.nodes()
	lb := by[names[2]]
	k.inventory(nil, names[2])
	k.mustPlay("cluster.yml")
	h := k.login(lb.Address, "ubuntu", "ubuntu")
	script := "set -e; apt-get update; apt-get install -y haproxy; mkdir -p /etc/haproxy; cat >/etc/haproxy/haproxy.cfg; systemctl restart haproxy"
	config := "frontend api\n    bind 0.0.0.0:8383\n    default_backend api\nbackend api\n    option httpchk GET /readyz\n    http-check expect status 200\n    default-server check check-ssl verify none\n" +
		"    server absent 198.18.9.9:6443\n    server m " + by[names[0]].Address + ":6443\n"
	if err := h.Exec(t.Context(), sshexec.Command{Argv: []string{"sh", "-c", script}, Root: true, Stdin: strings.NewReader(config)}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		conn, err := k.world.Dial(t.Context(), "tcp", lb.Address+":8383")
		if err != nil {
			t.Fatal(err)
		}
		if err := tls.Client(conn, &tls.Config{InsecureSkipVerify: true}).HandshakeContext(t.Context()); err != nil { //nolint:gosec // who answers is all
			t.Error(err)
		}
		if out := k.connections(t, h, by[names[0]].Address+":6443"); !strings.Contains(out, `users:(("haproxy",pid=`) {
			t.Errorf("ss shows no connection: %q", out)
		}
		_ = conn.Close()
	}
}

func (k *control) connections(t *testing.T, h *sshexec.Host, to string) string {
	t.Helper()
	out, err := h.Output(t.Context(), sshexec.Command{Argv: []string{"ss", "-Htnp", "state", "connected", "dst", to}, Root: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// get asks by HTTP: "refused" without a listener, "closed" when a listener says nothing.
func (k *control) get(t *testing.T, address, port string) string {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true, DialContext: k.world.Dial}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+net.JoinHostPort(address, port)+"/", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := transport.RoundTrip(r)
	switch {
	case err != nil && strings.Contains(err.Error(), "refused"):
		return "refused"
	case err != nil:
		return "closed"
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
