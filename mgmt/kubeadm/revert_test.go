package kubeadm_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/internal/fulltest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// backTo returns a confirmed request to revert to a snapshot.
func backTo(s *vnflcm.VnfSnapshot) vnflcm.RevertToVnfSnapshotRequest {
	return vnflcm.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: s.ID, AdditionalParams: mustParams(`{"confirm_loss": true}`)}
}

// reverts returns a request to revert to a snapshot that it takes.
func reverts(l *lab, id string) any { return backTo(l.saved(id)) }

// machineIDs returns the ids of the machines, sorted.
func (l *lab) machineIDs(id string) (out []string) {
	l.t.Helper()
	inst, err := l.Get(l.t.Context(), id)
	if err != nil {
		l.t.Fatal(err)
	}
	for _, v := range inst.InstantiatedVnfInfo.VnfcResourceInfo {
		out = append(out, v.ID+" "+v.ComputeResource.ResourceID)
	}
	slices.Sort(out)
	return out
}

// TestRevert brings a running cluster back to a snapshot. Two of its three control-plane nodes have joined after the snapshot.
func TestRevert(t *testing.T) {
	t.Parallel()
	l := snapshotLab(t, false)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), atLevel(oneMaster))...)
	l.RunStatefulSet(kubeadm.VIMID(id), 2)
	l.keep(id, "before")
	access, _ := l.Entry(kubeadm.VIMID(id))
	s := l.saved(id)
	l.keep(id, "later")
	l.Must(l.Scale(t.Context(), id, masters(vnflcm.ScaleOut, 1)))
	before, machines, authorities := l.outcome(id), l.machineIDs(id), l.authorities()

	_, err := l.RevertToSnapshot(t.Context(), id, vnflcm.RevertToVnfSnapshotRequest{VnfSnapshotInfoID: s.ID})
	want := "additionalParams.confirm_loss: must be true: etcd is restored from snapshot " + s.ID + " of " + s.About["node"] + ", taken "
	if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "has later data, at revision ") {
		t.Errorf("not confirmed: %v", err)
	}
	passing := backTo(s)
	passing.AdditionalParams = mustParams(`{"confirm_loss": true, "restore_pass_over": ["survivors"]}`)
	if _, err := l.RevertToSnapshot(t.Context(), id, passing); !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), `restore_pass_over: "survivors": is no check of this request`) {
		t.Errorf("passing over a check that a revert needs: %v", err)
	}
	preview, err := l.Preview(t.Context(), id, backTo(s))
	if err != nil || len(preview.Losses) != 1 || !strings.Contains(preview.String(), "Data that are given up: etcd is restored from snapshot "+s.ID) || !strings.Contains(preview.String(), "restore-data") {
		t.Errorf("%v\n%v", err, preview)
	}

	opID, err := l.RevertToSnapshot(t.Context(), id, backTo(s))
	l.Must(opID, err)
	l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
	if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
		t.Errorf("another end than before:\n%s", diff)
	}
	if diff := cmp.Diff(machines, l.machineIDs(id)); diff != "" {
		t.Errorf("other machines:\n%s", diff)
	}
	if diff := cmp.Diff(authorities, l.authorities()); diff != "" {
		t.Errorf("other authorities:\n%s", diff)
	}
	if !l.keeps(id, "before") || l.keeps(id, "later") || !l.accepts(id, access.Token) {
		t.Errorf("objects from before: %t, later: %t, tokens: %t", l.keeps(id, "before"), l.keeps(id, "later"), l.accepts(id, access.Token))
	}
	l.WantStatefulSet(kubeadm.VIMID(id), 2)
	if text := l.warnings(opID); !strings.Contains(text, "etcd is restored from snapshot "+s.ID) {
		t.Errorf("warnings: %s", text)
	}
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
	l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
}

// TestRevertRefused finds in the first task why a cluster cannot be reverted. No machine has been changed then.
func TestRevertRefused(t *testing.T) {
	t.Parallel()
	kept := archives(t)
	l := openLab(t, setup{snapshots: kept})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	s := l.saved(id)
	l.keep(id, "later")
	from := l.Snapshot()
	for name, c := range map[string]struct {
		before func(*lab)
		want   string // in the error; "": the cluster is reverted
	}{
		"a machine is off": {func(l *lab) { l.stop("masterNode-2") },
			"masterNode-2 does not answer, and could go on with other data: heal its VNFC first; if etcd has no quorum, heal it with restore " + s.ID},
		"another cluster":              {func(l *lab) { l.Must(l.Heal(t.Context(), id, wholeHeal)) }, "it belongs to a cluster that was made later or earlier"},
		"no quorum, all machines work": {func(l *lab) { l.breakData("masterNode-0", "masterNode-1") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.want == "" { // members that do not answer take 50 seconds
				fulltest.SkipVariant(t)
			}
			l := openLab(t, setup{from: from, snapshots: kept})
			c.before(l)
			before := l.machineIDs(id)
			opID, err := l.RevertToSnapshot(t.Context(), id, backTo(s))
			if c.want == "" {
				l.Must(opID, err)
				l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
				if l.keeps(id, "later") {
					t.Error("an object that is later than the snapshot is there")
				}
				return
			}
			if err := l.Fails(opID, err); !strings.Contains(err.Error(), c.want) {
				t.Error(err)
			}
			if diff := cmp.Diff(before, l.machineIDs(id)); diff != "" {
				t.Errorf("other machines:\n%s", diff)
			}
			for _, r := range l.host("masterNode-0").Commands() {
				if r.Argv[0] == "mv" && strings.Contains(strings.Join(r.Argv, " "), "/etc/kubernetes/manifests/") {
					t.Errorf("the control plane was stopped: %q", r.Argv)
				}
			}
		})
	}
}
