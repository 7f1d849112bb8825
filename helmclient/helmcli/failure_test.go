package helmcli_test

import (
	"testing"

	"github.com/vnfkit/vnfkit/helmclient"
	"github.com/vnfkit/vnfkit/helmclient/helmcli"
)

// TestClass has messages of helm that quote an API server.
func TestClass(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]helmclient.Error{
		`Error: INSTALLATION FAILED: 1 error occurred:
	* Internal error occurred: failed calling webhook "hook.example.com": failed to call webhook: Post "https://hook.default.svc:443/?timeout=10s": dial tcp 10.96.0.21:443: connect: connection refused`: helmclient.ErrRefused,
		`Error: INSTALLATION FAILED: deployments.apps "web" is forbidden: exceeded quota: few, requested: count/deployments.apps=1, used: count/deployments.apps=0, limited: count/deployments.apps=0`: helmclient.ErrRefused,
		`Error: INSTALLATION FAILED: configmaps "a" is forbidden: unable to create new content in namespace shop because it is being terminated`:                                                       helmclient.ErrRefused,
		`Error: query: failed to query with labels: secrets is forbidden: User "vnfm" cannot list resource "secrets" in API group "" in the namespace "shop"`:                                          helmclient.ErrDenied,
		`Error: Kubernetes cluster unreachable: Get "https://10.0.0.5:6443/version": dial tcp 10.0.0.5:6443: connect: connection refused`:                                                              helmclient.ErrUnreachable,
		"Error: INSTALLATION FAILED: failed post-install: 1 error occurred:\n\t* timed out waiting for the condition":                                                                                  helmclient.ErrNotReady,
	} {
		if got := helmcli.Class(message); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
