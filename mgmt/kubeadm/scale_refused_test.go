package kubeadm_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/mgmt/mgmttest"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestScaleControlPlaneRefused: these requests are refused, with all reasons at once, before a machine is made or changed.
func TestScaleControlPlaneRefused(t *testing.T) {
	t.Parallel()
	scalable := setup{pkg: scalableBalancerPackage(t)}
	level := func(master int) vnflcm.ScaleVnfToLevelRequest {
		return vnflcm.ScaleVnfToLevelRequest{ScaleInfo: []vnflcm.ScaleInfo{{AspectID: "master_instance", ScaleLevel: master}, {AspectID: "worker_instance", ScaleLevel: 1}}}
	}
	for _, c := range []struct {
		name     string
		setup    setup
		file     string
		cluster  []mgmttest.Change
		requests map[string][]any // by a text of the reason
	}{
		{"behind a load balancer", scalable, "instantiate_sandbox.json", behind(t, "complex", 0), map[string][]any{
			"numberOfSteps: \"1\": leads to 4 control-plane nodes, which tolerate the loss of no more nodes than 3": {masters(vnflcm.ScaleOut, 1)},
			"leads to 2 control-plane nodes":             {masters(vnflcm.ScaleIn, 1)},
			"scaleInfo[0].scaleLevel: \"7\": leads to 8": {level(7)},
			"etcd advises at most 7 members":             {masters(vnflcm.ScaleOut, 6), level(8)},
		}},
		{"at an address of a node", setup{}, "instantiate_sandbox.json", []mgmttest.Change{clustertest.Sized("complex", 0)}, map[string][]any{
			"whose API is at an address of masterNode-0": {masters(vnflcm.ScaleOut, 1)},
			"scaleInfo[0].aspectId":                      {level(2)},
		}},
		{"set up by a script", setup{}, "instantiate_script.json", []mgmttest.Change{clustertest.Sized("complex", 0)}, map[string][]any{
			"the script of the package has set up": {masters(vnflcm.ScaleOut, 1), masters(vnflcm.ScaleIn, 1)},
			"whose API is at an address of":        {masters(vnflcm.ScaleOut, 1)},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, c.setup)
			id := l.Instantiated(c.file, c.cluster...)
			before := l.sortedNames()
			for want, requests := range c.requests {
				for _, r := range requests {
					var err error
					switch r := r.(type) {
					case vnflcm.ScaleVnfRequest:
						_, err = l.Scale(t.Context(), id, r)
					case vnflcm.ScaleVnfToLevelRequest:
						_, err = l.ScaleToLevel(t.Context(), id, r)
					}
					if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
						t.Errorf("%+v: %v, want %q", r, err, want)
					}
				}
			}
			if diff := cmp.Diff(before, l.sortedNames()); diff != "" {
				t.Errorf("machines:\n%s", diff)
			}
		})
	}
}

// TestScaleInWithoutAddress: the node with the address of the API stays, and others may leave.
func TestScaleInWithoutAddress(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", clustertest.Sized("complex", 0))
	l.Must(l.Scale(t.Context(), id, masters(vnflcm.ScaleIn, 1)))
	l.wantMembers("masterNode-0")
}

// failsUntouched checks that a scale-in fails before a node is changed, and returns the error.
func (l *lab) failsUntouched(id string) error {
	l.t.Helper()
	members := l.World.EtcdMembers()
	var changed []string
	var mu sync.Mutex
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			mu.Lock()
			defer mu.Unlock()
			if !slices.Contains([]string{"staying", "quorum", "snapshot"}, s.Name) {
				changed = append(changed, l.stepName(s))
			}
			return next(ctx)
		}
	})
	opID, err := m.Scale(l.t.Context(), id, masters(vnflcm.ScaleIn, 1))
	err = l.Fails(opID, err, m)
	if len(changed) > 0 || len(l.World.EtcdMembers()) != len(members) {
		l.t.Errorf("steps %q, members %+v", changed, l.World.EtcdMembers())
	}
	if err := l.Fail(l.t.Context(), opID); err != nil {
		l.t.Fatal(err)
	}
	return err
}

// TestScaleInDeadStayer: a node that would stay is dead. The error names it and the remedy, which helps.
func TestScaleInDeadStayer(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.stop("masterNode-0")
	err := l.failsUntouched(id)
	if !strings.Contains(err.Error(), "masterNode-0") || !strings.Contains(err.Error(), "heal it first") {
		t.Errorf("%v", err)
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-0")}))
	l.Must(l.Scale(t.Context(), id, masters(vnflcm.ScaleIn, 1)))
	l.want(1, 1, 0)
}

// TestScaleOutDeadMember: a member of etcd is not healthy, so that no node could join. No machine is made.
func TestScaleOutDeadMember(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{driver: kubeadm.Config{Timeouts: kubeadm.Timeouts{Ready: time.Second}}})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	before := l.sortedNames()
	l.stop("masterNode-1")
	opID, err := l.Scale(t.Context(), id, masters(vnflcm.ScaleOut, 1))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "is not healthy") || !strings.Contains(err.Error(), "Heal the node first") {
		t.Errorf("%v", err)
	}
	if diff := cmp.Diff(before, l.sortedNames()); diff != "" {
		t.Errorf("machines:\n%s", diff)
	}
}

// TestTwoMembers: one of two nodes dies while three nodes become one. No member is removed: nothing but a restore helps.
func TestTwoMembers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	preview, err := l.Preview(t.Context(), id, masters(vnflcm.ScaleIn, 1))
	if err != nil || strings.Count(preview.String(), "then etcd has two members, and ends with the loss of either") != 2 {
		t.Errorf("the plan does not say what two members mean, or not for both ways of one node: %v\n%s", err, preview)
	}
	var once sync.Once
	m := l.Process(func(c *vnflcm.Config) {
		c.Intercept = func(ctx context.Context, s vnflcm.StepInfo, next func(context.Context) error) error {
			if s.Name == "stop-api-server" && len(l.World.EtcdMembers()) == 2 {
				once.Do(func() { l.stop("masterNode-0") })
			}
			return next(ctx)
		}
	})
	opID, err := m.Scale(t.Context(), id, masters(vnflcm.ScaleIn, 1))
	if err := l.Fails(opID, err, m); !errors.Is(err, etcd.ErrQuorum) && !strings.Contains(err.Error(), "etcd answers on no control-plane node that stays") {
		t.Errorf("%v", err)
	}
	if members := l.World.EtcdMembers(); len(members) != 2 {
		t.Errorf("%+v", members)
	}
}

// TestScaleInSnapshot: without a snapshot no control-plane node is removed, unless the request passes over the check.
func TestScaleInSnapshot(t *testing.T) {
	t.Parallel()
	deadlines := make(chan time.Time, 10)
	l := openLab(t, setup{snapshots: fullStorage(t, deadlines)})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	if err := l.failsUntouched(id); !strings.Contains(err.Error(), "the check snapshot") || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("%v", err)
	}
	request := masters(vnflcm.ScaleIn, 1)
	request.AdditionalParams = params(t, `{"preflight":{"pass_over":["snapshot"]}}`)
	opID, err := l.Scale(vnflcm.WithSender(t.Context(), "night-shift"), id, request)
	occ, err := l.End(opID, err)
	if err != nil || !slices.ContainsFunc(occ.Warnings, func(w string) bool { return strings.Contains(w, "by the request of night-shift: snapshot") }) {
		t.Errorf("%v, %v", occ.Warnings, err)
	}
	l.wantMembers("masterNode-0")

	saves := openLab(t, setup{snapshots: archives(t)})
	id = saves.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	saves.Must(saves.Scale(t.Context(), id, masters(vnflcm.ScaleIn, 1)))
	page, err := saves.Snapshots(t.Context(), vnflcm.SnapshotQuery{InstanceID: id})
	if err != nil || len(page.Items) != 1 || page.Items[0].VnfSnapshot.Cause != vnflcm.SnapshotBefore {
		t.Errorf("%+v, %v", page, err)
	}
}
