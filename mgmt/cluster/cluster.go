package cluster

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// Runner runs a command as root on a control-plane node.
type Runner interface {
	RunRoot(ctx context.Context, argv []string, stdin io.Reader, stdout, stderr io.Writer) error
}

// Cluster is a running cluster, seen from its control-plane nodes.
type Cluster[R Runner] struct{ masters []R }

// New returns the cluster of these control-plane nodes.
func New[R Runner](masters []R) *Cluster[R] { return &Cluster[R]{masters} }

// ErrNoAPI says that no control-plane node answers. A retry helps once one does.
var ErrNoAPI = errors.New("cluster: no control-plane node answers")

// adminConfig is the credentials that kubeadm leaves on control-plane nodes, for root.
const adminConfig = "/etc/kubernetes/admin.conf"

// attempt bounds how long one node is asked whether it answers.
const attempt = 20 * time.Second

// Leader returns a control-plane node whose API server answers.
func (c *Cluster[R]) Leader(ctx context.Context) (leader R, err error) {
	var errs []error
	for _, m := range c.masters {
		err := Ready(ctx, m)
		if err == nil {
			return m, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			return leader, context.Cause(ctx)
		}
	}
	return leader, fmt.Errorf("%w: %w", ErrNoAPI, errors.Join(errs...))
}

// Ready reports whether the API server on that node answers.
func Ready(ctx context.Context, m Runner) error {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	return m.RunRoot(ctx, kubectl("get", "--raw=/readyz", "--request-timeout=10s"), nil, io.Discard, nil)
}

func kubectl(args ...string) []string {
	return append([]string{"kubectl", "--kubeconfig", adminConfig}, args...)
}

func (c *Cluster[R]) run(ctx context.Context, stdin io.Reader, stdout io.Writer, args ...string) error {
	leader, err := c.Leader(ctx)
	if err != nil {
		return err
	}
	if stdout == nil {
		stdout = io.Discard
	}
	return leader.RunRoot(ctx, kubectl(args...), stdin, stdout, nil)
}

// getJSON reads an object; found is false when there is none.
func (c *Cluster[R]) getJSON(ctx context.Context, into any, args ...string) (found bool, err error) {
	var out bytes.Buffer
	args = append([]string{"get", "-o", "json", "--ignore-not-found"}, args...)
	if err := c.run(ctx, nil, &out, args...); err != nil {
		return false, err
	}
	if out.Len() == 0 {
		return false, nil
	}
	return true, json.Unmarshal(out.Bytes(), into)
}

// Node is a node of the cluster.
type Node struct {
	Name         string
	Address      netip.Addr // InternalIP
	ControlPlane bool
	Ready        bool
	Reason       string // why it is not ready
}

type nodeObject struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
	Status struct {
		Addresses []struct {
			Type    string `json:"type"`
			Address string `json:"address"`
		} `json:"addresses"`
		Conditions []struct {
			Type    string `json:"type"`
			Status  string `json:"status"`
			Message string `json:"message"`
		} `json:"conditions"`
	} `json:"status"`
}

func (o nodeObject) node() Node {
	n := Node{Name: o.Metadata.Name, Reason: "it has not reported yet"}
	_, n.ControlPlane = o.Metadata.Labels["node-role.kubernetes.io/control-plane"]
	for _, a := range o.Status.Addresses {
		if addr, err := netip.ParseAddr(a.Address); err == nil && a.Type == "InternalIP" && !n.Address.IsValid() {
			n.Address = addr
		}
	}
	for _, c := range o.Status.Conditions {
		if c.Type == "Ready" {
			n.Ready, n.Reason = c.Status == "True", c.Message
		}
	}
	return n
}

// Nodes lists the nodes.
func (c *Cluster[R]) Nodes(ctx context.Context) ([]Node, error) {
	var list struct {
		Items []nodeObject `json:"items"`
	}
	if _, err := c.getJSON(ctx, &list, "nodes"); err != nil {
		return nil, err
	}
	out := make([]Node, len(list.Items))
	for i, item := range list.Items {
		out[i] = item.node()
	}
	return out, nil
}

// NodeAt finds the node with that InternalIP, whatever its name.
func (c *Cluster[R]) NodeAt(ctx context.Context, addr netip.Addr) (Node, bool, error) {
	nodes, err := c.Nodes(ctx)
	for _, n := range nodes {
		if addr.IsValid() && n.Address == addr {
			return n, true, nil
		}
	}
	return Node{}, false, err
}

// DrainOptions of Drain.
type DrainOptions struct {
	Timeout time.Duration // how long pods may take to leave; required
	Force   bool          // also pods that no controller makes anew elsewhere
}

// Drain cordons a node and evicts its pods, those of all namespaces; DaemonSet pods stay. Disruption budgets
// are respected.
func (c *Cluster[R]) Drain(ctx context.Context, node string, o DrainOptions) error {
	args := []string{"drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=" + o.Timeout.String()}
	if o.Force {
		// A pod whose kubelet is gone is never confirmed to have ended: it is not waited for.
		args = append(args, "--force", "--skip-wait-for-delete-timeout=1")
	}
	return c.run(ctx, nil, nil, args...)
}

// DeleteNode removes a Node object; that there is none is no error.
func (c *Cluster[R]) DeleteNode(ctx context.Context, node string) error {
	return c.run(ctx, nil, nil, "delete", "node", node, "--ignore-not-found", "--wait=true")
}

// Apply applies a manifest, again and again until the API takes it or ctx ends.
func (c *Cluster[R]) Apply(ctx context.Context, manifest []byte) error {
	return poll(ctx, "the manifest to be accepted", func() error {
		return c.run(ctx, bytes.NewReader(manifest), nil, "apply", "-f", "-")
	})
}

// Exists reports whether there is such an object.
func (c *Cluster[R]) Exists(ctx context.Context, namespace, kind, name string) (bool, error) {
	var object json.RawMessage
	return c.getJSON(ctx, &object, "-n", namespace, kind, name)
}

// Delete removes an object; that there is none is no error.
func (c *Cluster[R]) Delete(ctx context.Context, namespace, kind, name string) error {
	return c.run(ctx, nil, nil, "delete", kind, name, "-n", namespace, "--ignore-not-found")
}

// WaitReady waits until a node is Ready at each of these addresses. report is told what blocks.
func (c *Cluster[R]) WaitReady(ctx context.Context, addrs []netip.Addr, report func(string)) error {
	return poll(ctx, "all nodes to be Ready", func() error {
		nodes, err := c.Nodes(ctx)
		if err != nil {
			return err
		}
		byAddr := map[netip.Addr]Node{}
		for _, n := range nodes {
			byAddr[n.Address] = n
		}
		var missing []error
		for _, addr := range addrs {
			if n, joined := byAddr[addr]; !joined {
				missing = append(missing, fmt.Errorf("no node has the address %s", addr))
			} else if !n.Ready {
				missing = append(missing, fmt.Errorf("node %s: %s", n.Name, n.Reason))
			}
		}
		if len(missing) > 0 {
			report(strconv.Itoa(len(addrs)-len(missing)) + " of " + strconv.Itoa(len(addrs)) + " nodes are Ready; " + missing[0].Error())
		}
		return errors.Join(missing...)
	})
}

// poll calls try until it succeeds; when ctx ends, the last reason is in the error.
func poll(ctx context.Context, what string, try func() error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 5*time.Second
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last: %w", what, context.Cause(ctx), err)
		case <-time.After(pause.NextBackOff()):
		}
	}
}

func decodeSecret(data map[string]string, key string) (string, error) {
	value, err := base64.StdEncoding.DecodeString(data[key])
	if err != nil || len(value) == 0 {
		return "", fmt.Errorf("cluster: the Secret has no %s yet", key)
	}
	return string(value), nil
}
