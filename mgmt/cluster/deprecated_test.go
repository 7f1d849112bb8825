package cluster_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/cluster"
)

// TestRequestedAPIs finds the deprecated version of a kind that a client has used.
func TestRequestedAPIs(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	leader, err := s.Leader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := cluster.RequestedAPIs(t.Context(), leader); len(got) > 0 || err != nil {
		t.Errorf("before: %v, %v", got, err)
	}
	s.apply("apiVersion: storage.k8s.io/v1beta1\nkind: VolumeAttributesClass\nmetadata: {name: fast}\ndriverName: example.org\n")
	got, err := cluster.RequestedAPIs(t.Context(), leader)
	want := []cluster.RequestedAPI{{Resource: "volumeattributesclasses.v1beta1.storage.k8s.io", Removed: "1.37"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v\n%s", err, diff)
	}
}

// TestRequestedIn reads the lines of a real API server, and others that must not count.
func TestRequestedIn(t *testing.T) {
	t.Parallel()
	const metrics = `# HELP apiserver_requested_deprecated_apis [STABLE] Gauge of deprecated APIs that have been requested
# TYPE apiserver_requested_deprecated_apis gauge
apiserver_requested_deprecated_apis{group="",removed_release="",resource="endpoints",subresource="",version="v1"} 1
apiserver_requested_deprecated_apis{group="networking.k8s.io",removed_release="1.37",resource="servicecidrs",subresource="status",version="v1beta1"} 1
apiserver_requested_deprecated_apis{group="policy",removed_release="1.25",resource="podsecuritypolicies",subresource="",version="v1beta1"} 0
apiserver_requested_deprecated_apis_total{group="a",removed_release="1.37",resource="b",subresource="",version="c"} 1
apiserver_requested_deprecated_apis{group="cut
`
	want := []cluster.RequestedAPI{{Resource: "endpoints.v1"}, {Resource: "servicecidrs/status.v1beta1.networking.k8s.io", Removed: "1.37"}}
	if diff := cmp.Diff(want, cluster.RequestedIn(metrics)); diff != "" {
		t.Error(diff)
	}
}
