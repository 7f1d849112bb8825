package cluster

import (
	"context"
	"regexp"
	"strings"
)

// RequestedAPI is a deprecated version of an API that clients have used since an API server has started.
type RequestedAPI struct {
	Resource string // with version and group, such as volumeattributesclasses.v1beta1.storage.k8s.io
	Removed  string // the release that does not serve the version any more, such as 1.37; "" if no release is planned
}

// RequestedAPIs returns the deprecated versions of APIs that clients have requested from the API server on that node, by its metric
// apiserver_requested_deprecated_apis.
func RequestedAPIs(ctx context.Context, n ControlPlaneNode) ([]RequestedAPI, error) {
	s, err := connect(ctx, n)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	text, err := s.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	return requestedIn(string(text)), nil
}

// label matches a label of a metric. The labels of this metric have no quotes in their values.
var label = regexp.MustCompile(`([a-z_]+)="([^"]*)"`)

// requestedIn reads the metric from what an API server prints, in the text format of Prometheus.
func requestedIn(metrics string) (out []RequestedAPI) {
	for line := range strings.Lines(metrics) {
		labels, found := strings.CutPrefix(line, "apiserver_requested_deprecated_apis{")
		labels, value, complete := strings.Cut(labels, "}")
		if !found || !complete || strings.TrimSpace(value) == "0" {
			continue
		}
		of := map[string]string{}
		for _, match := range label.FindAllStringSubmatch(labels, -1) {
			of[match[1]] = match[2]
		}
		name := of["resource"]
		if sub := of["subresource"]; sub != "" {
			name += "/" + sub
		}
		out = append(out, RequestedAPI{Resource: strings.TrimSuffix(name+"."+of["version"]+"."+of["group"], "."), Removed: of["removed_release"]})
	}
	return out
}
