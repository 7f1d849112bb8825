package cluster_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errDown = errors.New("connection refused")

// node is a control-plane node that answers kubectl from a table.
type node struct {
	mu      sync.Mutex
	down    bool
	answers func(args string) (string, error)
	asked   []string // arguments of kubectl, without those for readiness
	stdin   string
}

func (n *node) RunRoot(ctx context.Context, argv []string, stdin io.Reader, stdout, _ io.Writer) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.down {
		return errDown
	}
	args, ok := strings.CutPrefix(strings.Join(argv, " "), "kubectl --kubeconfig /etc/kubernetes/admin.conf ")
	if !ok {
		return fmt.Errorf("what is %q?", argv)
	}
	if strings.HasPrefix(args, "get --raw=/readyz") {
		return ctx.Err()
	}
	n.asked = append(n.asked, args)
	if stdin != nil {
		data, err := io.ReadAll(stdin)
		if err != nil {
			return err
		}
		n.stdin = string(data)
	}
	if n.answers == nil {
		return nil
	}
	out, err := n.answers(args)
	if _, failed := io.WriteString(stdout, out); failed != nil {
		return failed
	}
	return err
}

func object(name, address, ready, message, labels string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"labels":{%s}},"status":{"addresses":[{"type":"Hostname","address":%q},{"type":"InternalIP","address":%q}],
		"conditions":[{"type":"MemoryPressure","status":"False","message":"fine"},{"type":"Ready","status":%q,"message":%q}]}}`, name, labels, name, address, ready, message)
}

func list(items ...string) string { return `{"items":[` + strings.Join(items, ",") + `]}` }

const master = `"node-role.kubernetes.io/control-plane":""`

func answer(text string) func(string) (string, error) {
	return func(string) (string, error) { return text, nil }
}

func TestLeader(t *testing.T) {
	t.Parallel()
	first, second := &node{down: true}, &node{}
	c := cluster.New([]cluster.Runner{first, second})
	leader, err := c.Leader(t.Context())
	if err != nil || leader != cluster.Runner(second) {
		t.Errorf("%v, %v", leader, err)
	}
	if err := c.DeleteNode(t.Context(), "worker"); err != nil || len(second.asked) != 1 {
		t.Errorf("the second was asked %q, %v", second.asked, err)
	}
	second.down = true
	if _, err := c.Leader(t.Context()); !errors.Is(err, cluster.ErrNoAPI) || !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
	if _, err := cluster.New[cluster.Runner](nil).Leader(t.Context()); !errors.Is(err, cluster.ErrNoAPI) {
		t.Errorf("without nodes: %v", err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	errGone := errors.New("gone")
	cancel(errGone)
	if _, err := c.Leader(ctx); !errors.Is(err, errGone) || errors.Is(err, cluster.ErrNoAPI) {
		t.Errorf("after the end of the context: %v", err)
	}
}

func TestNodes(t *testing.T) {
	t.Parallel()
	n := &node{answers: answer(list(
		object("master", "10.0.0.1", "True", "ready", master),
		object("worker", "10.0.0.2", "False", "no network", `"a":"b"`),
		`{"metadata":{"name":"new"}}`, object("odd", "not an address", "True", "", "")))}
	c := cluster.New([]cluster.Runner{n})
	got, err := c.Nodes(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []cluster.Node{
		{Name: "master", Address: netip.MustParseAddr("10.0.0.1"), ControlPlane: true, Ready: true, Reason: "ready"},
		{Name: "worker", Address: netip.MustParseAddr("10.0.0.2"), Reason: "no network"},
		{Name: "new", Reason: "it has not reported yet"}, {Name: "odd", Ready: true},
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); diff != "" {
		t.Error(diff)
	}
	at, found, err := c.NodeAt(t.Context(), netip.MustParseAddr("10.0.0.2"))
	if err != nil || !found || at.Name != "worker" {
		t.Errorf("%+v, %v, %v", at, found, err)
	}
	if _, found, err = c.NodeAt(t.Context(), netip.MustParseAddr("10.0.0.9")); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	// Objects that have no address yet are nobody's.
	if _, found, err = c.NodeAt(t.Context(), netip.Addr{}); found || err != nil {
		t.Errorf("%v, %v", found, err)
	}
	n.answers = answer("no JSON")
	if _, err := c.Nodes(t.Context()); err == nil {
		t.Error("no JSON is no error")
	}
}

// TestCommands: what kubectl is told.
func TestCommands(t *testing.T) {
	t.Parallel()
	hostile := "w; touch /pwned"
	for name, c := range map[string]struct {
		do   func(context.Context, *cluster.Cluster[cluster.Runner]) error
		want string
	}{
		"drain": {func(ctx context.Context, c *cluster.Cluster[cluster.Runner]) error {
			return c.Drain(ctx, "w", cluster.DrainOptions{Timeout: 90 * time.Second})
		}, "drain w --ignore-daemonsets --delete-emptydir-data --timeout=1m30s"},
		"drain of the dead": {func(ctx context.Context, c *cluster.Cluster[cluster.Runner]) error {
			return c.Drain(ctx, "w", cluster.DrainOptions{Timeout: time.Second, Force: true})
		}, "drain w --ignore-daemonsets --delete-emptydir-data --timeout=1s --force --skip-wait-for-delete-timeout=1"},
		"delete a node": {func(ctx context.Context, c *cluster.Cluster[cluster.Runner]) error { return c.DeleteNode(ctx, hostile) }, "delete node " + hostile + " --ignore-not-found --wait=true"},
		"delete an object": {func(ctx context.Context, c *cluster.Cluster[cluster.Runner]) error {
			return c.Delete(ctx, "ns", "secret", "s")
		}, "delete secret s -n ns --ignore-not-found"},
		"exists": {func(ctx context.Context, c *cluster.Cluster[cluster.Runner]) error {
			found, err := c.Exists(ctx, "ns", "secret", "s")
			if found {
				return errors.New("it does not exist")
			}
			return err
		}, "get -o json --ignore-not-found -n ns secret s"},
		"apply": {func(ctx context.Context, c *cluster.Cluster[cluster.Runner]) error {
			return c.Apply(ctx, []byte("kind: X"))
		}, "apply -f -"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &node{}
			if err := c.do(t.Context(), cluster.New([]cluster.Runner{n})); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{c.want}, n.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestWaitReady(t *testing.T) {
	t.Parallel()
	tries := 0
	n := &node{answers: func(string) (string, error) {
		tries++
		switch tries {
		case 1:
			return "", errDown
		case 2:
			return list(object("a", "10.0.0.1", "True", "", "")), nil
		case 3:
			return list(object("a", "10.0.0.1", "True", "", ""), object("b", "10.0.0.2", "False", "no network", "")), nil
		default: // somebody else's node does not matter
			return list(object("a", "10.0.0.1", "True", "", ""), object("b", "10.0.0.2", "True", "", ""), object("c", "10.0.0.3", "False", "", "")), nil
		}
	}}
	var told []string
	addrs := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}
	if err := cluster.New([]cluster.Runner{n}).WaitReady(t.Context(), addrs, func(m string) { told = append(told, m) }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"1 of 2 nodes are Ready; no node has the address 10.0.0.2", "1 of 2 nodes are Ready; node b: no network"}, told); diff != "" {
		t.Error(diff)
	}
}

func TestWaitReadyTimesOut(t *testing.T) {
	t.Parallel()
	n := &node{answers: answer(list(object("b", "10.0.0.2", "False", "no network", "")))}
	errLate := errors.New("too late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 100*time.Millisecond, errLate)
	defer cancel()
	err := cluster.New([]cluster.Runner{n}).WaitReady(ctx, []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.2")}, func(string) {})
	if !errors.Is(err, errLate) {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"waiting for all nodes to be Ready", "no node has the address 10.0.0.1", "node b: no network"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in %v", want, err)
		}
	}
}

func TestApplyTriesAgain(t *testing.T) {
	t.Parallel()
	tries := 0
	n := &node{answers: func(string) (string, error) {
		if tries++; tries < 3 {
			return "", errors.New("no endpoints available for the webhook")
		}
		return "", nil
	}}
	if err := cluster.New([]cluster.Runner{n}).Apply(t.Context(), []byte("kind: X\n")); err != nil || tries != 3 || n.stdin != "kind: X\n" {
		t.Errorf("%d tries, %q: %v", tries, n.stdin, err)
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	secret := 0
	n := &node{}
	n.answers = func(args string) (string, error) {
		if !strings.Contains(args, " secret ") || strings.HasPrefix(args, "delete") {
			return "", nil
		}
		encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
		switch secret++; secret {
		case 1:
			return "", nil // not there yet
		case 2:
			return `{"data":{"ca.crt":"` + encode("PEM") + `"}}`, nil // not filled yet
		default:
			return `{"data":{"ca.crt":"` + encode("PEM") + `","token":"` + encode("secret") + `"}}`, nil
		}
	}
	c, account := cluster.New([]cluster.Runner{n}), cluster.Account{Namespace: "kube-system", Name: "vnfkit", ClusterRole: "view"}
	got, err := c.EnsureAccount(t.Context(), account)
	if err != nil || got != (cluster.Credentials{Token: "secret", CA: "PEM"}) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, want := range []string{"kind: ServiceAccount", "kind: ClusterRoleBinding", "name: view", "kubernetes.io/service-account-token", "namespace: kube-system"} {
		if !strings.Contains(n.stdin, want) {
			t.Errorf("%q is not in\n%s", want, n.stdin)
		}
	}
	n.asked = nil
	if err := c.RemoveAccount(t.Context(), account); err != nil {
		t.Error(err)
	}
	want := []string{"delete secret vnfkit -n kube-system --ignore-not-found", "delete clusterrolebinding vnfkit -n kube-system --ignore-not-found",
		"delete serviceaccount vnfkit -n kube-system --ignore-not-found"}
	if diff := cmp.Diff(want, n.asked); diff != "" {
		t.Error(diff)
	}
}

func Example() {
	// A Runner is anything that runs a command as root on a control-plane node: a mgmt.Node does, over SSH.
	dead := &node{down: true}
	alive := &node{answers: answer(list(
		object("master", "10.10.0.5", "True", "kubelet is posting ready status", master), object("worker", "10.10.0.7", "False", "container runtime is down", "")))}
	kube := cluster.New([]cluster.Runner{dead, alive})
	nodes, err := kube.Nodes(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, n := range nodes {
		fmt.Printf("%s %s Ready=%t: %s\n", n.Name, n.Address, n.Ready, n.Reason)
	}
	// Output:
	// master 10.10.0.5 Ready=true: kubelet is posting ready status
	// worker 10.10.0.7 Ready=false: container runtime is down
}
