package controlplane_test

import (
	"encoding/json"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm/internal/controlplane"
)

// TestBootstrapIsStored checks the stored form of Bootstrap, because journals of older versions have it.
func TestBootstrapIsStored(t *testing.T) {
	t.Parallel()
	for want, b := range map[string]controlplane.Bootstrap{
		`{"Endpoint":"192.0.2.1:6443","CAHash":"sha256:00"}`:                    {Endpoint: "192.0.2.1:6443", CAHash: "sha256:00"},
		`{"Endpoint":"192.0.2.1:6443","CAHash":"sha256:00","Version":"1.35.4"}`: {Endpoint: "192.0.2.1:6443", CAHash: "sha256:00", Version: "1.35.4"},
	} {
		if got, err := json.Marshal(b); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
