package objects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

// lastLines is how many lines of a failed container are shown.
const lastLines = 5

// logs returns the last lines of the failed containers of a pod, one text for each container. Logs that cannot be read are
// left out.
func (c *Client) logs(ctx context.Context, pod *Object) (texts []string) {
	for _, failed := range readiness.FailedContainers(pod) {
		log, err := c.cluster.LastLines(ctx, pod.GetNamespace(), pod.GetName(), failed.Name, lastLines, failed.Previous)
		if log = strings.TrimSpace(log); err == nil && log != "" {
			texts = append(texts, fmt.Sprintf("pod %s, last lines of container %s: %s", pod.GetName(), failed.Name, strings.ReplaceAll(log, "\n", " | ")))
		}
	}
	return texts
}

// Explain returns those objects that exist, are accepted by mine and are not ready, or are Jobs that have not completed, with
// the reasons and logs of their pods and the last warnings about them. It takes at most 15 seconds, also after the deadline
// of ctx.
func (c *Client) Explain(ctx context.Context, refs []Ref, mine func(*Object) bool) (out []helmclient.Object, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), diagnosis)
	defer cancel()
	all, err := c.read(ctx, refs)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(o *Object) bool {
		if o == nil || !mine(o) {
			return true
		}
		ready, _ := readiness.State(o)
		return ready && (o.GroupVersionKind().GroupKind() != jobKind || condition(o, "Complete") == "True")
	})
	related, err := c.related(ctx, all, true)
	for _, o := range all {
		out = append(out, readiness.About(o, related))
	}
	return out, err
}
