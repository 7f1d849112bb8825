package e2e_test

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/infra/openstack"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestScalingInACooldown scales while a policy of the group swallows signals, and a group whose number the
// template says itself.
func TestScalingInACooldown(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	pkg := variant(t, "BaseHOT/simple/simple_hot_top.yaml", "scaling_adjustment: 1", "scaling_adjustment: 1\n      cooldown: 300")
	text := filepath.Join(pkg, "BaseHOT/simple/simple_hot_top.yaml")
	content, err := os.ReadFile(text) //nolint:gosec // our own
	if err != nil {
		t.Fatal(err)
	}
	content = []byte(strings.ReplaceAll(string(content), "desired_capacity: { get_param: [ nfv, VDU, workerNode, desired_capacity ] }", "desired_capacity: 1"))
	if err := os.WriteFile(text, content, 0o600); err != nil {
		t.Fatal(err)
	}
	l := newStackLab(t, openstack.VimTypeV2, pkg)
	l.must(l.instantiate("simple", 1))
	size := func() int { n, _ := l.members(); return n }
	settled := func(n int, busy []string) bool { return n == 2 && len(busy) == 0 }
	l.signal()
	l.awaitMembers(settled)
	time.Sleep(2 * time.Second) // the cooldown begins when the scaling has ended
	l.signal()
	time.Sleep(3 * time.Second)
	if n := size(); n != 2 {
		t.Fatalf("a signal in the cooldown made %d members", n)
	}
	four := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleOut, 3)))
	two := l.must(l.Scale(ctx, l.id, scale(vnflcm.ScaleIn, 2)))
	if len(workers(four)) != 4 || len(workers(two)) != 2 || size() != 2 {
		t.Errorf("%d workers, then %d, Heat has %d", len(workers(four)), len(workers(two)), size())
	}
	l.must(l.Heal(ctx, l.id, vnflcm.HealVnfRequest{VnfcInstanceID: workers(two)[:1]}))
	if n := size(); n != 2 {
		t.Errorf("healing made %d workers of 2", n) // the number in the template is 1
	}
	l.terminate(vnflcm.TerminateForceful)
}

// TestScaledMeanwhile scales while Heat still processes a signal, for example of an alarm: Heat checks the existing members
// for some time after the new member is complete.
func TestScaledMeanwhile(t *testing.T) {
	t.Parallel()
	l := newStackLab(t, openstack.VimTypeV2, packageDir)
	l.must(l.instantiate("simple", 1))
	l.signal()
	l.awaitMembers(func(_ int, busy []string) bool { return slices.Contains(busy, "UPDATE_IN_PROGRESS") })
	three := l.must(l.Scale(t.Context(), l.id, scale(vnflcm.ScaleOut, 2)))
	if n, busy := l.members(); len(workers(three)) != 3 || n != 3 || len(busy) > 0 {
		t.Errorf("%d workers, Heat has %d, and is busy: %q", len(workers(three)), n, busy)
	}
	l.terminate(vnflcm.TerminateForceful)
}

// stackName is the name of the stack, which another program may have chosen.
func (l *stackLab) stackName() string { return cmp.Or(l.adopted, openstack.StackName(l.id)) }

// stackID is that which Heat gave the stack of the instance.
func (l *stackLab) stackID() string {
	l.t.Helper()
	var found struct {
		Stack struct {
			ID string `json:"id"`
		} `json:"stack"`
	}
	l.heat(http.MethodGet, nil, &found, "stacks", l.stackName())
	return found.Stack.ID
}

// signal has the policy of the sample package scale the workers out by one. It is answered with 200 whatever becomes of it.
func (l *stackLab) signal() {
	l.t.Helper()
	l.heat(http.MethodPost, nil, nil, "stacks", l.stackName(), l.stackID(), "resources", "worker_instance_scale_out", "signal")
}

// members counts the workers, and tells what Heat is busy with in the stack.
func (l *stackLab) members() (n int, busy []string) {
	l.t.Helper()
	var list struct {
		Resources []struct {
			Name   string `json:"resource_name"`
			Status string `json:"resource_status"`
		} `json:"resources"`
	}
	l.heat(http.MethodGet, nil, &list, "stacks", l.stackName(), l.stackID(), "resources?nested_depth=5")
	for _, r := range list.Resources {
		if r.Name == "workerNode" {
			n++
		}
		if !strings.HasSuffix(r.Status, "_COMPLETE") {
			busy = append(busy, r.Status)
		}
	}
	return n, busy
}

func (l *stackLab) awaitMembers(wanted func(n int, busy []string) bool) {
	l.t.Helper()
	l.awaitHeat(func() string {
		n, busy := l.members()
		if wanted(n, busy) {
			return ""
		}
		return fmt.Sprintf("the signal had no effect: %d members, busy: %q", n, busy)
	})
}
