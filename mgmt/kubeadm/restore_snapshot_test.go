package kubeadm_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/afero"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

const fromLatest = `{"restore": "latest", "confirm_loss": true}`

// snapshotLab returns a lab that keeps snapshots, with a machine for a load balancer or without.
func snapshotLab(t *testing.T, withBalancer bool) *lab {
	t.Helper()
	s := setup{}
	if withBalancer {
		s = *balancerSetup()
	}
	s.snapshots, s.driver = archives(t), kubeadm.Config{Scratch: t.TempDir()}
	return openLab(t, s)
}

// authorities returns what makes a control plane that of one cluster: its CAs and the key of its service accounts.
func (l *lab) authorities() (out []string) {
	l.t.Helper()
	for _, name := range []string{"ca.crt", "sa.pub", "etcd/ca.crt", "front-proxy-ca.crt"} {
		text, err := afero.ReadFile(l.host("masterNode-0").FS(), "/etc/kubernetes/pki/"+name)
		if err != nil {
			l.t.Fatal(err)
		}
		out = append(out, string(text))
	}
	return out
}

// accepts reports whether the API accepts a token.
func (l *lab) accepts(id string, token vnflcm.Secret) bool {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	access.Token = token
	code, _, err := l.Ask(access, http.MethodGet, "/api/v1/nodes", "")
	if err != nil {
		l.t.Fatal(err)
	}
	return code == http.StatusOK
}

// breakData damages the data of etcd on machines.
func (l *lab) breakData(machines ...string) {
	l.t.Helper()
	for _, name := range machines {
		if err := l.host(name).FS().Remove("/var/lib/etcd/member/snap/db"); err != nil {
			l.t.Fatal(err)
		}
	}
}

// TestRestoreFromSnapshot restores etcd from a snapshot: on control-plane nodes that stay, also if etcd does not start there, and on new ones. The
// cluster is the same: objects and tokens from before the snapshot are valid, and later objects are gone.
func TestRestoreFromSnapshot(t *testing.T) {
	t.Parallel()
	all := []string{"masterNode-0", "masterNode-1", "masterNode-2"}
	for _, c := range []struct {
		name     string
		balanced bool
		lost     []string // nil: the whole VNF
		broken   []string // nodes that stay, with data that etcd cannot read
		later    bool     // a worker is added after the snapshot
		grown    bool     // two of the control-plane nodes are added after the snapshot
	}{
		{name: "two of three", lost: all[:2], later: true},
		{name: "one is lost and one is broken", lost: all[:1], broken: all[2:]},
		{name: "the survivor has joined after the snapshot", lost: all[:2], grown: true},
		{name: "all control-plane nodes", lost: all, later: true},
		{name: "all behind a load balancer", balanced: true, lost: all},
		{name: "the whole VNF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := snapshotLab(t, c.balanced)
			change := append(virtual(t), clustertest.Sized("complex", 1))
			if c.balanced {
				change = behind(t, "complex", 1)
			}
			if c.grown {
				change = append(virtual(t), atLevel(oneMaster))
			}
			id := l.Instantiated("instantiate_sandbox.json", change...)
			l.RunStatefulSet(kubeadm.VIMID(id), 2)
			l.keep(id, "before")
			authorities := l.authorities()
			access, _ := l.Entry(kubeadm.VIMID(id))
			s := l.saved(id)
			l.keep(id, "later")
			if c.grown {
				l.Must(l.Scale(t.Context(), id, masters(vnflcm.ScaleOut, 1)))
			}
			if c.later {
				l.Must(l.Scale(t.Context(), id, vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut, AspectID: "worker_instance"}))
			}
			before := l.outcome(id)
			request := vnflcm.HealVnfRequest{AdditionalParams: mustParams(fromLatest)}
			if c.lost != nil {
				request = l.restoring(id, `{"restore": "`+s.ID+`", "confirm_loss": true}`, c.lost...)
				l.stop(c.lost...)
			} else {
				l.stop(slices.Concat(all, []string{"workerNode-0"})...)
			}
			l.breakData(c.broken...)
			opID, err := l.Heal(t.Context(), id, request)
			l.Must(opID, err)
			l.wantMembers(all...)
			if diff := cmp.Diff(authorities, l.authorities()); diff != "" {
				t.Errorf("other authorities:\n%s", diff)
			}
			if !l.keeps(id, "before") || l.keeps(id, "later") || !l.accepts(id, access.Token) {
				t.Errorf("objects from before: %t, later: %t, tokens: %t", l.keeps(id, "before"), l.keeps(id, "later"), l.accepts(id, access.Token))
			}
			if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			l.WantStatefulSet(kubeadm.VIMID(id), 2)
			if text := l.warnings(opID); !strings.Contains(text, "etcd is restored from snapshot "+s.ID) {
				t.Errorf("warnings: %s", text)
			}
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
			l.wantMembers(all...)
		})
	}
}
