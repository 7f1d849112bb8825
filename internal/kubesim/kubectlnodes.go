package kubesim

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"
)

// node shows a node, or deletes it.
func (c *call) node(kubeconfig, verb, name string) error {
	return c.asAdmin(kubeconfig, func(cl *cluster) error {
		if cl.Nodes[name] == nil {
			return fmt.Errorf("Error from server (NotFound): nodes %q not found", name)
		}
		if verb == "delete" {
			if err := c.w.deleteNode(cl, name); err != nil {
				return fmt.Errorf("Error from server: %w", err)
			}
			c.printf("node %q deleted\n", name)
			return c.w.runControllers(cl)
		}
		c.printf("%s\n", name)
		return nil
	})
}

type drainOptions struct{ force, daemons, data bool }

// patience is how long a drain waits for pods that cannot leave: what takes minutes really.
const patience = time.Second

// drain cordons a node and evicts its pods, until all have ended.
func (c *call) drain(ctx context.Context, kubeconfig, name string, o drainOptions) error {
	if !o.force || !o.daemons || !o.data {
		return errors.New("kubesim: kubectl drain without --force, --ignore-daemonsets and --delete-emptydir-data is not simulated")
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		left, err := 0, error(nil)
		if asked := c.asAdmin(kubeconfig, func(cl *cluster) error { left, err = c.evictAll(cl, name); return nil }); asked != nil {
			return asked
		}
		if err != nil {
			return err
		}
		if left == 0 {
			c.printf("node/%s drained\n", name)
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("error: unable to drain node %q due to error: timed out waiting for the condition, %d pods are left", name, left)
		case <-tick.C:
		}
	}
}

// evictAll asks every pod of a node to leave that is not there for the node itself, and counts them.
func (c *call) evictAll(cl *cluster, name string) (left int, err error) {
	n := cl.Nodes[name]
	if n == nil {
		return 0, fmt.Errorf("Error from server (NotFound): nodes %q not found", name)
	}
	n.Unschedulable = true
	pods := cl.podsOn(name)
	for _, key := range slices.Sorted(maps.Keys(pods)) {
		pod := pods[key]
		if ownedBy(pod, "DaemonSet") || ownedBy(pod, "Node") {
			continue
		}
		left++
		if at(pod, "metadata", "deletionTimestamp") != nil {
			continue
		}
		q := &request{w: c.w, c: cl, body: []byte(`{"apiVersion":"policy/v1","kind":"Eviction"}`), http: &http.Request{Method: http.MethodPost, Header: http.Header{}},
			path: apiPath{kind: podKind, namespace: textAt(pod, "metadata", "namespace"), name: textAt(pod, "metadata", "name"), sub: "eviction"}}
		if _, err := q.evict(pod); err != nil {
			if fault, ok := errors.AsType[*apiError](err); !ok || fault.code != http.StatusTooManyRequests {
				return left, err
			}
		}
	}
	return left, c.w.runControllers(cl)
}
