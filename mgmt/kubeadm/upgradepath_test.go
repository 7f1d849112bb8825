package kubeadm_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
)

// TestUpgradePath checks the versions through which an upgrade leads.
func TestUpgradePath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from, to string
		through  []string
		want     string // versions, or the end of the error
	}{
		{"1.35.4", "1.35.4", nil, "1.35.4"},
		{"1.35.4", "1.35.10", nil, "1.35.10"},
		{"1.35.4", "1.36.0", nil, "1.36.0"},
		{"1.35.4", "1.37.2", nil, "1.36.3 1.37.2"},
		{"1.35.4", "1.37.2", []string{"1.36.5"}, "1.36.5 1.37.2"},
		{"1.33.1", "1.36.3", []string{"1.34.9", "1.35.6"}, "1.34.9 1.35.6 1.36.3"},
		{"1.33.1", "1.36.3", []string{"1.34.9"}, "upgrade.through: must have a version of 1.35: an upgrade leads through each minor version"},
		{"1.35.4", "1.36.3", []string{"1.36.1"}, `upgrade.through[0]: "1.36.1": is not between 1.35.4 and 1.36.3`},
		{"1.36.3", "1.35.6", nil, "is older than 1.36.3, which the cluster has: Kubernetes cannot be downgraded"},
		{"1.35.10", "1.35.9", nil, "is older than 1.35.10, which the cluster has: Kubernetes cannot be downgraded"},
	} {
		got, err := kubeadm.UpgradePath(c.from, c.to, c.through)
		if text := strings.Join(got, " "); err == nil && text != c.want || err != nil && !strings.HasSuffix(fmt.Sprint(err), c.want) {
			t.Errorf("%s to %s through %q: %q, %v", c.from, c.to, c.through, text, err)
		}
	}
}

// TestCriticalPath checks how many nodes an upgrade drains one after the other at most: the control-plane nodes, and as many workers as
// there are for each that may be unavailable.
func TestCriticalPath(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ controlPlane, workers, unavailable, want int }{{3, 20, 4, 3 + 5}, {3, 20, 1, 3 + 20}, {1, 3, 2, 1 + 2}, {3, 2, 10, 3 + 1}, {1, 0, 1, 1}} {
		tasks := kubeadm.UpgradeTasks(c.controlPlane, c.workers, c.unavailable)
		longest, most := make([]int, len(tasks)), 0
		for i, task := range tasks {
			for _, before := range task.After {
				longest[i] = max(longest[i], longest[before])
			}
			if task.Name == "drain-1.36.3" {
				longest[i]++
			}
			most = max(most, longest[i])
		}
		if most != c.want {
			t.Errorf("%+v: %d nodes are drained one after the other", c, most)
		}
	}
}

// TestWithPause: only the sandbox image of containerd's configuration changes.
func TestWithPause(t *testing.T) {
	t.Parallel()
	const image = "registry.k8s.io/pause:3.10.2"
	for name, c := range map[string]struct{ config, want string }{
		"containerd 1": {"version = 2\n[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = 'registry.k8s.io/pause:3.10.1'\nmax = 3\n",
			"version = 2\n\n[plugins]\n[plugins.'io.containerd.grpc.v1.cri']\nmax = 3\nsandbox_image = 'registry.k8s.io/pause:3.10.2'\n"},
		"containerd 2": {"version = 3\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'a'\n",
			"version = 3\n\n[plugins]\n[plugins.'io.containerd.cri.v1.images']\n[plugins.'io.containerd.cri.v1.images'.pinned_images]\nsandbox = 'registry.k8s.io/pause:3.10.2'\n"},
		"the same":   {"version=2 # mine\n[plugins.'io.containerd.grpc.v1.cri']\nsandbox_image = \"registry.k8s.io/pause:3.10.2\"\n", ""},
		"no image":   {"version = 2 # mine\n", ""},
		"no plugins": {"plugins = 3\n", ""},
	} {
		got, err := kubeadm.WithPause([]byte(c.config), image)
		want := c.want
		if want == "" {
			want = c.config
		}
		if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	if _, err := kubeadm.WithPause([]byte("{"), image); err == nil {
		t.Error("no TOML is no error")
	}
}
