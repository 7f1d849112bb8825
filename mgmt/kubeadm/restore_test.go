package kubeadm_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// restoring returns a request to heal machines and to restore etcd.
func (l *lab) restoring(id, attributes string, machines ...string) vnflcm.HealVnfRequest {
	l.t.Helper()
	return vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, machines...), AdditionalParams: mustParams(attributes)}
}

// wholeHeal is a request to heal the whole VNF that gives up the data of the cluster.
var wholeHeal = vnflcm.HealVnfRequest{AdditionalParams: mustParams(`{"restore": "none"}`)}

func mustParams(text string) vnflcm.Params {
	p, err := vnflcm.ParseParams([]byte(text))
	if err != nil {
		panic(err)
	}
	return p
}

const fromSurvivor = `{"restore": "survivor", "confirm_loss": true}`

// keep stores a ConfigMap in the cluster.
func (l *lab) keep(id, name string) {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodPost, "/api/v1/namespaces/default/configmaps", `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "`+name+`"}}`)
	if code != http.StatusCreated || err != nil {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
}

// keeps reports whether the cluster has a ConfigMap.
func (l *lab) keeps(id, name string) bool {
	l.t.Helper()
	access, _ := l.Entry(kubeadm.VIMID(id))
	code, body, err := l.Ask(access, http.MethodGet, "/api/v1/namespaces/default/configmaps/"+name, "")
	if err != nil || code != http.StatusOK && code != http.StatusNotFound {
		l.t.Fatalf("%d %s %v", code, body, err)
	}
	return code == http.StatusOK
}

// TestRestoreFromSurvivor loses control-plane nodes for good, of which one is only cut off: etcd must not be restored before its machine is gone.
func TestRestoreFromSurvivor(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, request string
		virtual       bool
		lost          []string
		workers       []string // that are healed too
	}{
		{name: "two of three", virtual: true, lost: []string{"masterNode-0", "masterNode-1"}},
		{name: "one survivor has the address", lost: []string{"masterNode-1", "masterNode-2"}, workers: []string{"workerNode-0"}},
		{name: "with a script", request: "instantiate_script.json", virtual: true, lost: []string{"masterNode-0", "masterNode-2"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			change := append(virtual(t), clustertest.Sized("complex", 1))
			if !c.virtual {
				change = change[len(change)-1:]
			}
			if c.request == "" {
				c.request = "instantiate_sandbox.json"
			}
			id := l.Instantiated(c.request, change...)
			l.RunStatefulSet(kubeadm.VIMID(id), 2)
			l.keep(id, "before")
			before := l.outcome(id)
			request := l.restoring(id, fromSurvivor, slices.Concat(c.lost, c.workers)...)
			l.isolate(c.lost...)
			l.stop(c.lost[:1]...)
			if err := l.World.Partition(c.lost[1]); err != nil {
				t.Fatal(err)
			}
			opID, err := l.Heal(t.Context(), id, request)
			l.Must(opID, err)
			l.want(3, 2, 0)
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
			if diff := cmp.Diff(before, l.outcome(id)); diff != "" {
				t.Errorf("another end than before:\n%s", diff)
			}
			if !l.keeps(id, "before") {
				t.Error("an object from before is gone")
			}
			l.WantStatefulSet(kubeadm.VIMID(id), 2)
			if text := l.warnings(opID); !strings.Contains(text, "etcd is restored from the data of masterNode-") {
				t.Errorf("warnings: %s", text)
			}
			l.dials.watch(nil)
			// A later heal must find a healthy cluster.
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: l.vnfcs(id, "masterNode-1")}))
			l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
		})
	}
}
