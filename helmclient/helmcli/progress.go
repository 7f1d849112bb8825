package helmcli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/readiness"
)

// interval is the pause between two looks at a wait.
const interval = 2 * time.Second

// watch reads the release while helm waits, and calls Progress. The function it returns ends that, and returns the last
// progress with objects that were not ready, nil if there was none. A look at an atomic operation may read the release
// before helm undoes it and the objects afterwards: it finds no object that waits, and says nothing about the failure.
func (c *Client) watch(ctx context.Context, m *machine, o operation) func() *helmclient.Progress {
	if !o.wait.Ready || o.verb == "uninstall" || o.wait.Progress == nil && !o.atomic {
		return func() *helmclient.Progress { return nil }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	var last *helmclient.Progress
	go func() {
		defer close(done)
		tick := time.NewTicker(max(min(interval, timeout(o.wait)/4), time.Millisecond))
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			p, state, err := m.progress(ctx, o.name)
			undoing := state == helmclient.PendingRollback && o.verb != "rollback" || state == helmclient.Uninstalling
			if err != nil || ctx.Err() != nil || undoing { // then the objects are no longer the ones to wait for
				continue
			}
			if len(p.Waiting) > 0 {
				last = &p
			}
			if o.wait.Progress != nil {
				o.wait.Progress(p)
			}
		}
	}()
	return func() *helmclient.Progress {
		cancel()
		<-done
		return last
	}
}

// progress reads the objects of a release, with their pods and the last warnings about them.
func (m *machine) progress(ctx context.Context, n helmclient.Name) (helmclient.Progress, helmclient.State, error) {
	out, err := m.helm(ctx, "status", n.Release, "--namespace="+n.Namespace, "--show-resources", "--output=json")
	if err != nil {
		return helmclient.Progress{}, "", err
	}
	objects, related, state, err := parseResources(out)
	if err != nil {
		return helmclient.Progress{}, "", err
	}
	p := readiness.Of(objects, related)
	if len(p.Waiting) == 0 {
		return p, state, nil
	}
	if events, err := m.run(ctx, command{argv: []string{"kubectl", "get", "events", "--namespace=" + n.Namespace, "--field-selector=type=Warning", "--output=json"}}); err == nil {
		related.Events, _ = parseList(events)
		p = readiness.Of(objects, related)
	}
	return p, state, nil
}

// parseResources parses the objects of "helm status --show-resources": lists by kind, and a separate list of the pods
// that belong to them.
func parseResources(out []byte) ([]unstructured.Unstructured, readiness.Related, helmclient.State, error) {
	var status struct {
		Info struct {
			State     helmclient.State             `json:"status"`
			Resources map[string][]json.RawMessage `json:"resources"`
		} `json:"info"`
	}
	var objects []unstructured.Unstructured
	var related readiness.Related
	if err := json.Unmarshal(out, &status); err != nil {
		return nil, related, "", fmt.Errorf("helm: its status cannot be read: %w", err)
	}
	for kind, list := range status.Info.Resources {
		for _, raw := range list {
			found, err := parseList(raw)
			if err != nil {
				return nil, related, "", err
			}
			if strings.HasSuffix(kind, "(related)") {
				related.Pods = append(related.Pods, found...)
			} else {
				objects = append(objects, found...)
			}
		}
	}
	sortObjects(objects)
	return objects, related, status.Info.State, nil
}

// parseList reads an object, or a list of objects that need not state their kinds. Whole numbers stay whole numbers, as
// kstatus requires.
func parseList(raw []byte) ([]unstructured.Unstructured, error) {
	var one map[string]any
	if err := utiljson.Unmarshal(raw, &one); err != nil {
		return nil, fmt.Errorf("helm: an object cannot be read: %w", err)
	}
	u := unstructured.Unstructured{Object: one}
	if kind, _ := one["kind"].(string); kind == "" {
		return nil, errors.New("helm: an object has no kind")
	}
	items, isList := one["items"].([]any)
	if !isList {
		return []unstructured.Unstructured{u}, nil
	}
	var out []unstructured.Unstructured
	kind := strings.TrimSuffix(u.GetKind(), "List")
	for _, item := range items {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, errors.New("helm: a list holds what is no object")
		}
		o := unstructured.Unstructured{Object: m}
		if o.GetKind() == "" {
			o.SetKind(kind)
			o.SetAPIVersion(u.GetAPIVersion())
		}
		out = append(out, o)
	}
	return out, nil
}
