package helmcli

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/vnfkit/vnfkit/helmclient"
)

// ended matches helm's message that a Job or pod it waited for has failed: helm 3 (pkg/kube, waitForJob and
// waitForPodSuccess) and helm 4 (statusWaiter.wait).
var ended = regexp.MustCompile(`(?i)\b(?:job|pod) (\S+) failed: ?(.*)|\bresource (?:job|pod)/[^/\s]*/(\S+) not ready\. status: \S+, message: (.*)`)

// hooks returns the hooks of the newest revision that have failed or not ended, with helm's messages about them.
func (m *machine) hooks(ctx context.Context, n helmclient.Name, said string) []helmclient.Object {
	out, err := m.helm(ctx, "status", n.Release, "--namespace="+n.Namespace, "--output=json")
	if err != nil {
		return nil
	}
	list := parseHooks(out)
	for i := range list {
		list[i].Namespace = n.Namespace
		if found := ended.FindStringSubmatch(said); found != nil && found[1]+found[3] == list[i].Name {
			list[i].Reason += ": " + strings.TrimSpace(found[2]+found[4])
		}
	}
	return list
}

func parseHooks(out []byte) []helmclient.Object {
	var status struct {
		Hooks []struct {
			Name, Kind, Manifest string
			Events               []string
			LastRun              struct {
				Phase string `json:"phase"`
			} `json:"last_run"`
		} `json:"hooks"`
	}
	if json.Unmarshal(out, &status) != nil {
		return nil
	}
	var list []helmclient.Object
	for _, h := range status.Hooks {
		o := helmclient.Object{Kind: h.Kind, Name: h.Name}
		switch h.LastRun.Phase {
		case "Failed":
			o.Reason = fmt.Sprintf("hook %s has failed", strings.Join(h.Events, ","))
		case "Running", "Unknown":
			o.Reason = fmt.Sprintf("hook %s has not ended", strings.Join(h.Events, ","))
		default:
			continue
		}
		list = append(list, o)
	}
	return list
}
