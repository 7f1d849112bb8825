package kubectl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vnfkit/vnfkit/internal/kubesim/kubeapi"
)

// node shows a node, or deletes it.
func (c *call) node(kubeconfig, verb, name string) error {
	return c.asAdmin(kubeconfig, func(cl *kubeapi.Cluster) error {
		if cl.Nodes[name] == nil {
			return fmt.Errorf("Error from server (NotFound): nodes %q not found", name)
		}
		if verb == "delete" {
			if err := cl.DeleteNode(name); err != nil {
				return fmt.Errorf("Error from server: %w", err)
			}
			c.Printf("node %q deleted\n", name)
			return cl.RunControllers()
		}
		c.Printf("%s\n", name)
		return nil
	})
}

type drainOptions struct{ force, daemons, data bool }

// attempts is how often a drain tries to evict pods that cannot leave, which takes minutes really. A count, because on a busy machine
// pods that can leave take longer.
const attempts = 100

// drain cordons a node and evicts its pods, until all have ended.
func (c *call) drain(ctx context.Context, kubeconfig, name string, o drainOptions) error {
	if !o.force || !o.daemons || !o.data {
		return errors.New("kubesim: kubectl drain without --force, --ignore-daemonsets and --delete-emptydir-data is not simulated")
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for attempt := 1; ; attempt++ {
		left, err := 0, error(nil)
		if asked := c.asAdmin(kubeconfig, func(cl *kubeapi.Cluster) error { left, err = cl.EvictAll(name); return nil }); asked != nil {
			return asked
		}
		if err != nil {
			return err
		}
		if left == 0 {
			c.Printf("node/%s drained\n", name)
			return nil
		}
		if attempt < attempts {
			select {
			case <-tick.C:
				continue
			case <-ctx.Done():
			}
		}
		return fmt.Errorf("error: unable to drain node %q due to error: timed out waiting for the condition, %d pods are left", name, left)
	}
}
