package vnflcm_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// site is a Manager whose instances of the flavour "plain" become VIMs. Instances of the flavour "bare" can use these VIMs.
type site struct {
	*toys
	log *lockedBuffer
}

type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func newSite(t *testing.T, change func(*vnflcm.Config)) *site {
	t.Helper()
	s := &site{log: new(lockedBuffer)}
	s.toys = newToys(t, func(cfg *vnflcm.Config) {
		cfg.Logger = slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		if change != nil {
			change(cfg)
		}
	})
	s.watch(func(op *vnflcm.Operation) {
		id := vimOf(op.InstanceID)
		switch op.Phase() {
		case "instantiate_end", "heal_end":
			must(t, op.RegisterVIM(t.Context(), vnflcm.VimConnectionInfo{ID: id, VimID: id, VimType: "toy", AccessInfo: params(t, `{"auth_url":"https://k","bearer_token":"canary"}`)}))
		case "heal_start", "terminate_start":
			must(t, op.RemoveVIM(t.Context(), id))
		}
	})
	return s
}

// vimOf returns the vimId of the cluster of an instance.
func vimOf(clusterID string) string { return "cluster-" + clusterID }

// on returns an instance that uses a VIM.
func (s *site) on(vim vnflcm.VimConnectionInfo) string {
	s.t.Helper()
	id := s.create()
	opID, err := s.Instantiate(s.t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{vim}})
	s.wait(opID, err, vnflcm.Completed)
	return id
}

func (s *site) terminate(id string, kind vnflcm.TerminationType, want vnflcm.OperationState) *vnflcm.VnfLcmOpOcc {
	s.t.Helper()
	opID, err := s.Terminate(s.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: kind})
	occ, _ := s.wait(opID, err, want)
	return occ
}

// wantRefused checks that the VNF can be neither terminated nor changed, that the error contains reason, and that nothing stays locked.
func (s *site) wantRefused(id, reason string) {
	s.t.Helper()
	before := s.get(id).Version
	_, terminate := s.Terminate(s.t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	_, heal := s.Heal(s.t.Context(), id, vnflcm.HealVnfRequest{})
	for _, err := range []error{terminate, heal} {
		wantIs(s.t, err, vnflcm.ErrInvalidRequest)
		if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" || !strings.Contains(fmt.Sprint(err), reason) {
			s.t.Errorf("error %v, want %q\n%s", err, reason, diff)
		}
	}
	if now := s.get(id); now.Version != before || now.InstantiationState != vnflcm.Instantiated {
		s.t.Errorf("the instance has changed: %+v", now)
	}
}

const noRegisteredVIM = "is no registered VIM: register it again, or give the VNF instance up with Manager.Abandon"

// TestTerminateOnTerminatedCluster terminates VNFs after this VNFM has terminated their cluster.
func TestTerminateOnTerminatedCluster(t *testing.T) {
	t.Parallel()
	own := func(cfg *vnflcm.Config) { cfg.VIMs = fixedVIMs{} }
	byName := func(id string) vnflcm.VimConnectionInfo { return vnflcm.VimConnectionInfo{VimID: id} }
	for name, c := range map[string]struct {
		change func(*vnflcm.Config)
		vim    func(id string) vnflcm.VimConnectionInfo
		remove func(s *site, cluster string) // by default the cluster is terminated
	}{
		"by name":                {vim: byName},
		"registry of the caller": {vim: byName, change: own},
		"with the login of the request": {vim: func(id string) vnflcm.VimConnectionInfo {
			return vnflcm.VimConnectionInfo{VimID: id, VimType: "toy", AccessInfo: params(t, `{"bearer_token":"other"}`)}
		}},
		"with a region": {vim: func(id string) vnflcm.VimConnectionInfo {
			return vnflcm.VimConnectionInfo{VimID: id, VimType: "toy", AccessInfo: params(t, `{"region":"r1"}`)}
		}},
		"the cluster was deleted": {vim: byName, remove: func(s *site, cluster string) {
			s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
			must(t, s.Delete(t.Context(), cluster, ""))
		}},
		"the cluster was given up": {vim: byName, remove: func(s *site, cluster string) {
			_, err := s.Abandon(t.Context(), cluster)
			must(t, err)
			must(t, s.VIMs().Remove(t.Context(), "", vimOf(cluster)))
		}},
		"the entry was removed before": {vim: byName, remove: func(s *site, cluster string) {
			must(t, s.VIMs().Remove(t.Context(), "", vimOf(cluster)))
			s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
		}},
		"healing the cluster had failed": {vim: byName, remove: func(s *site, cluster string) {
			s.world.failAt("heal/replace/worker-0", errCut)
			opID, err := s.Heal(t.Context(), cluster, vnflcm.HealVnfRequest{})
			s.wait(opID, err, vnflcm.FailedTemp)
			must(t, s.Fail(t.Context(), opID))
			s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
		}},
		"an answer of the caller's registry is lost": {vim: byName, change: func(cfg *vnflcm.Config) { cfg.VIMs = &lateVIMs{fixedVIMs: fixedVIMs{}} },
			remove: func(s *site, cluster string) {
				s.watch(func(*vnflcm.Operation) {}) // the Manager removes the entry
				occ := s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.FailedTemp)
				s.start() // a later process
				opID := occ.ID
				s.wait(opID, s.Retry(t.Context(), opID), vnflcm.Completed)
			}},
		"the driver removes no entry": {vim: byName, remove: func(s *site, cluster string) {
			s.watch(func(*vnflcm.Operation) {})
			s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
			_, err := s.VIMs().Get(t.Context(), "", vimOf(cluster))
			wantIs(t, err, vnflcm.ErrNotFound)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, c.change)
			cluster := s.instantiated("plain")
			user := s.on(c.vim(vimOf(cluster)))
			if c.remove == nil {
				s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
			} else {
				c.remove(s, cluster)
			}
			s.start() // a later process
			for _, begin := range []func() (string, error){
				func() (string, error) { return s.Heal(t.Context(), user, vnflcm.HealVnfRequest{}) },
				func() (string, error) { return s.Scale(t.Context(), user, scale(vnflcm.ScaleOut, 1)) },
			} {
				_, err := begin()
				if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" || !strings.Contains(fmt.Sprint(err), "can only be terminated") {
					t.Errorf("error %v", err)
				}
			}
			plan, err := s.Preview(t.Context(), user, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateGraceful})
			if err != nil || !strings.Contains(plan.String(), "ended with the cluster") {
				t.Errorf("preview %v: %v", plan, err)
			}
			occ := s.terminate(user, vnflcm.TerminateGraceful, vnflcm.Completed)
			if got := len(occ.ResourceChanges.AffectedVnfcs); got != 3 {
				t.Errorf("%d VNFCs removed, want 3", got)
			}
			want := fmt.Sprintf("operation=%s instance=%s vim=%s cluster=%s", occ.ID, user, vimOf(cluster), cluster)
			if log := s.log.String(); strings.Count(log, want) != 1 || strings.Contains(log, "canary") {
				t.Errorf("log:\n%swant %s", log, want)
			}
			if now := s.get(user); now.InstantiationState != vnflcm.NotInstantiated || len(now.VimConnectionInfo) > 0 {
				t.Errorf("the instance is %+v", now)
			}
			if len(s.world.state(user).Machines) != 3 {
				t.Error("the driver of the VIM was called")
			}
			must(t, s.Delete(t.Context(), user, ""))
		})
	}
}

// lateVIMs is a registry whose first answer to Remove is lost.
type lateVIMs struct {
	fixedVIMs
	once sync.Once
}

func (r *lateVIMs) Remove(ctx context.Context, tenant, id string) (err error) {
	r.once.Do(func() { err = errCut })
	return errors.Join(err, r.fixedVIMs.Remove(ctx, tenant, id))
}

// TestTerminateWithoutEntry checks that terminating is refused if only the entry of the VIM is missing, because the VIM may exist.
func TestTerminateWithoutEntry(t *testing.T) {
	t.Parallel()
	t.Run("an entry of the operator", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		vim := vnflcm.VimConnectionInfo{VimID: "vim2", VimType: "toy"}
		must(t, s.VIMs().Put(t.Context(), vim))
		user := s.on(vnflcm.VimConnectionInfo{VimID: "vim2"})
		must(t, s.VIMs().Remove(t.Context(), "", "vim2"))
		s.wantRefused(user, noRegisteredVIM)
		must(t, s.VIMs().Put(t.Context(), vim))
		s.terminate(user, vnflcm.TerminateForceful, vnflcm.Completed)
		if left := s.world.state(user).Machines; len(left) > 0 {
			t.Errorf("machines that are left: %v", left)
		}
	})
	t.Run("the entry of a cluster that exists", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		cluster := s.instantiated("plain")
		user := s.on(vnflcm.VimConnectionInfo{VimID: vimOf(cluster)})
		must(t, s.VIMs().Remove(t.Context(), "", vimOf(cluster)))
		s.wantRefused(user, noRegisteredVIM)
	})
	t.Run("terminating the cluster has failed", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		cluster := s.instantiated("plain")
		user := s.on(vnflcm.VimConnectionInfo{VimID: vimOf(cluster)})
		s.world.failAt("terminate/delete/worker-0", errCut)
		occ := s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.FailedTemp)
		s.wantRefused(user, "heal or terminate the cluster first")
		must(t, s.Fail(t.Context(), occ.ID))
		s.wantRefused(user, "heal or terminate the cluster first")
		s.world.failAt("terminate/delete/worker-0", nil)
		s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
		s.terminate(user, vnflcm.TerminateForceful, vnflcm.Completed)
	})
	t.Run("a later VIM with the same id", func(t *testing.T) {
		t.Parallel()
		for name, change := range map[string]func(*vnflcm.Config){"registry in the store": nil, "registry of the caller": func(cfg *vnflcm.Config) { cfg.VIMs = fixedVIMs{} }} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s := newSite(t, change)
				cluster := s.instantiated("plain")
				s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
				must(t, s.VIMs().Put(t.Context(), vnflcm.VimConnectionInfo{VimID: vimOf(cluster), VimType: "toy"}))
				user := s.on(vnflcm.VimConnectionInfo{VimID: vimOf(cluster)})
				must(t, s.VIMs().Remove(t.Context(), "", vimOf(cluster)))
				s.wantRefused(user, noRegisteredVIM)
			})
		}
	})
	t.Run("a new instance", func(t *testing.T) {
		t.Parallel()
		s := newSite(t, nil)
		cluster := s.instantiated("plain")
		s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
		_, err := s.Instantiate(t.Context(), s.create(), vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vimOf(cluster)}}})
		if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
			t.Errorf("error %v", err)
		}
	})
}

// TestClusterEndsDuringOperation terminates the cluster while an operation of a VNF on it is in FAILED_TEMP.
func TestClusterEndsDuringOperation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		failAt string
		begin  func(s *site, user string) (string, error)
		leave  func(s *site, opID string) error
		want   vnflcm.OperationState
	}{
		"terminate, retried": {"terminate/delete/worker-0", func(s *site, user string) (string, error) {
			return s.Terminate(s.t.Context(), user, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
		}, func(s *site, opID string) error { return s.Retry(s.t.Context(), opID) }, vnflcm.Completed},
		"instantiate, rolled back": {"instantiate/create/worker-0", nil,
			func(s *site, opID string) error { return s.Rollback(s.t.Context(), opID) }, vnflcm.RolledBack},
		"instantiate, failed": {"instantiate/create/worker-0", nil,
			func(s *site, opID string) error { return s.Fail(s.t.Context(), opID) }, vnflcm.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, nil)
			cluster := s.instantiated("plain")
			vim := vnflcm.VimConnectionInfo{VimID: vimOf(cluster)}
			var user, opID string
			var err error
			if c.begin != nil {
				user = s.on(vim)
				s.world.failAt(c.failAt, errCut)
				opID, err = c.begin(s, user)
			} else {
				s.world.failAt(c.failAt, errCut)
				user = s.create()
				opID, err = s.Instantiate(t.Context(), user, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{vim}})
			}
			s.wait(opID, err, vnflcm.FailedTemp)
			s.world.failAt(c.failAt, nil)
			s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed)
			must(t, c.leave(s, opID))
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if occ, err := s.Wait(ctx, opID); occ == nil || occ.OperationState != c.want {
				t.Fatalf("operation %+v: %v", occ, err)
			}
			if c.want == vnflcm.Failed {
				s.terminate(user, vnflcm.TerminateForceful, vnflcm.Completed)
			}
			must(t, s.Delete(t.Context(), user, ""))
		})
	}
}

// TestClusterEndsDuringRequest terminates the cluster between the check of an instantiation and its acceptance.
func TestClusterEndsDuringRequest(t *testing.T) {
	t.Parallel()
	var s *site
	var cluster string
	ending := &endingCloud{}
	s = newSite(t, func(cfg *vnflcm.Config) {
		ending.InfraDriver = cfg.Infra["toy"]
		cfg.Infra["toy"] = ending
	})
	cluster = s.instantiated("plain")
	user := s.create()
	ending.onPlan = sync.OnceFunc(func() { s.terminate(cluster, vnflcm.TerminateForceful, vnflcm.Completed) })
	ending.of = user
	_, err := s.Instantiate(t.Context(), user, vnflcm.InstantiateVnfRequest{FlavourID: "bare", VimConnectionInfo: vnflcm.VimConnections{{VimID: vimOf(cluster)}}})
	if diff := cmp.Diff([]string{"vimConnectionInfo[0].vimId"}, faults(err)); diff != "" {
		t.Errorf("error %v", err)
	}
	must(t, s.Delete(t.Context(), user, ""))
}

// endingCloud calls onPlan when an operation of a certain instance is planned.
type endingCloud struct {
	vnflcm.InfraDriver
	of     string
	onPlan func()
}

func (c *endingCloud) Plan(ctx context.Context, op *vnflcm.Operation) (vnflcm.Change, error) {
	if op.InstanceID == c.of {
		c.onPlan()
	}
	return c.InfraDriver.Plan(ctx, op)
}
