package controlplane

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// Config is the configuration of a Cluster.
type Config struct {
	Programs string     // directory of etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok
	Stages   string     // file with the behaviour of kwok's nodes and pods
	Dir      string     // directory for state and logs; the caller deletes it
	Address  netip.Addr // address of this machine on which the API server listens, at port 6443
	Nodes    int
}

// Cluster is a running control plane. Its programs end with this process. A machine can run one Cluster at a time, because
// the programs always use the address inside.
type Cluster struct {
	Config

	ca     []byte
	token  string
	tokens *rsa.PrivateKey // signs the tokens of service accounts
	api    *process
	others []*process
}

// inside is the address at which the programs reach each other.
const inside = "127.213.0.1"

// patience is the longest time of a start, on a busy machine.
const patience = 5 * time.Minute

// grace is longer than the ten minutes between the heartbeats of kwok's nodes. They have no leases: after kwok has taken over
// the lease of a node, it can ignore for good what has been scheduled to the node before.
const grace = "1h"

// Start starts a cluster and waits until pods can be scheduled. The caller closes the cluster.
func Start(ctx context.Context, cfg Config) (*Cluster, error) {
	c := &Cluster{Config: cfg, token: rand.Text()}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.start(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("controlplane: %w\n%s", err, c.Logs()), c.Close())
	}
	return c, nil
}

func (c *Cluster) start(ctx context.Context) (err error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return err
	}
	// 127.0.0.1, because tests also reach the API server through relays on this machine.
	if c.ca, c.tokens, err = certify(c.Dir, c.Address.AsSlice(), net.ParseIP(inside), net.IPv4(10, 96, 0, 1), net.IPv4(127, 0, 0, 1)); err != nil {
		return err
	}
	for name, content := range map[string]string{"tokens.csv": c.token + ",admin,admin,system:masters\n", "admin.conf": string(Kubeconfig(c.Client()))} {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(content), 0o600); err != nil {
			return err
		}
	}
	if err := c.run(ctx, "etcd", "--data-dir=etcd", "--unsafe-no-fsync",
		"--listen-client-urls=http://"+inside+":2379", "--advertise-client-urls=http://"+inside+":2379",
		"--listen-peer-urls=http://"+inside+":2380", "--initial-advertise-peer-urls=http://"+inside+":2380", "--initial-cluster=default=http://"+inside+":2380"); err != nil {
		return err
	}
	if err := c.StartAPI(ctx); err != nil {
		return err
	}
	if err := errors.Join(
		c.run(ctx, "kube-controller-manager", "--kubeconfig=admin.conf", "--use-service-account-credentials", "--service-account-private-key-file=sa.key",
			"--root-ca-file=ca.crt", "--cluster-signing-cert-file=ca.crt", "--cluster-signing-key-file=ca.key", "--bind-address="+inside,
			"--leader-elect=false", "--allocate-node-cidrs", "--cluster-cidr=10.244.0.0/16", "--node-monitor-grace-period="+grace),
		c.run(ctx, "kube-scheduler", "--kubeconfig=admin.conf", "--bind-address="+inside, "--leader-elect=false"),
		c.run(ctx, "kwok", "--kubeconfig=admin.conf", "--config="+c.Stages, "--manage-all-nodes", "--node-lease-duration-seconds=0",
			"--cidr=10.244.0.0/16", "--server-address="+inside+":10247")); err != nil {
		return err
	}
	return c.populate(ctx)
}

func (c *Cluster) run(ctx context.Context, program string, args ...string) error {
	p, err := begin(ctx, c.Dir, filepath.Join(c.Programs, program), args...)
	if err == nil {
		c.others = append(c.others, p)
	}
	return err
}

// populate adds the nodes, and waits for the nodes and for the objects that a namespace needs before it can have pods.
func (c *Cluster) populate(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(c.Client())
	if err != nil {
		return err
	}
	for i := range c.Nodes {
		name := fmt.Sprintf("node-%d", i)
		node := &core.Node{ObjectMeta: meta.ObjectMeta{Name: name, Labels: map[string]string{
			"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}}}
		if _, err := client.CoreV1().Nodes().Create(ctx, node, meta.CreateOptions{}); err != nil {
			return err
		}
	}
	if err := until(ctx, "the service account of the namespace default", func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", meta.GetOptions{})
		return err
	}); err != nil {
		return err
	}
	return until(ctx, "the nodes", func() error {
		list, err := client.CoreV1().Nodes().List(ctx, meta.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range list.Items {
			if !ready(node) {
				return fmt.Errorf("node %s is not ready", node.Name)
			}
		}
		return nil
	})
}

// ready reports whether pods can be scheduled to a node.
func ready(node core.Node) bool {
	for _, condition := range node.Status.Conditions {
		if condition.Type == core.NodeReady {
			return condition.Status == core.ConditionTrue && len(node.Spec.Taints) == 0
		}
	}
	return false
}

// until repeats ask until it returns no error, or ctx ends.
func until(ctx context.Context, what string, ask func() error) error {
	every := time.NewTicker(50 * time.Millisecond)
	defer every.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w: %w", what, context.Cause(ctx), err)
		case <-every.C:
		}
	}
}

// StartAPI starts the API server, or starts it again, and waits until it answers. Then it restarts the programs that use the
// API server: otherwise they take up to a minute to connect again.
func (c *Cluster) StartAPI(ctx context.Context) (err error) {
	c.api, err = begin(ctx, c.Dir, filepath.Join(c.Programs, "kube-apiserver"), "--etcd-servers=http://"+inside+":2379",
		"--bind-address="+c.Address.String(), "--advertise-address="+c.Address.String(), "--tls-cert-file=server.crt", "--tls-private-key-file=server.key",
		"--client-ca-file=ca.crt", "--token-auth-file=tokens.csv", "--authorization-mode=Node,RBAC", "--service-cluster-ip-range=10.96.0.0/16",
		"--service-account-issuer="+issuer, "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
		"--allow-privileged", "--endpoint-reconciler-type=none")
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(c.Client())
	if err != nil {
		return err
	}
	err = until(ctx, "the API", func() error {
		select {
		case <-c.api.ended:
			return errors.New("kube-apiserver has ended")
		default:
			return client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
		}
	})
	for i := 1; i < len(c.others) && err == nil; i++ { // the first is etcd
		p := c.others[i]
		p.end(syscall.SIGKILL)
		c.others[i], err = begin(ctx, c.Dir, p.cmd.Path, p.cmd.Args[1:]...)
	}
	return err
}

// StopAPI kills the API server with SIGKILL, as a crash does. All other programs continue.
func (c *Cluster) StopAPI() { c.api.end(syscall.SIGKILL) }

// Close ends all programs.
func (c *Cluster) Close() error {
	for _, p := range c.others[min(1, len(c.others)):] {
		p.end(syscall.SIGTERM)
	}
	if c.api != nil {
		c.api.end(syscall.SIGKILL)
	}
	for _, p := range c.others {
		p.end(syscall.SIGKILL)
	}
	return nil
}

// Logs returns the end of the log of each program.
func (c *Cluster) Logs() string {
	var text strings.Builder
	for _, p := range slices.Backward(c.others) { // the first lines are those of kwok, without which nothing runs
		text.WriteString(p.logged())
	}
	if c.api != nil {
		text.WriteString(c.api.logged())
	}
	return text.String()
}
