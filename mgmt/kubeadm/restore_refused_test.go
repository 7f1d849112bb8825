package kubeadm_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/vnfkit/vnfkit/internal/clustertest"
	"github.com/vnfkit/vnfkit/mgmt/kubeadm/etcd"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestRestoreRefused checks requests that are refused before anything is changed, and what their errors advise.
func TestRestoreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.stop("masterNode-0", "masterNode-1")
	lost := []string{"masterNode-0", "masterNode-1"}
	for _, c := range []struct {
		name, attributes string
		machines         []string
		want             string
	}{
		{"not confirmed", `{"restore": "survivor"}`, lost, "additionalParams.confirm_loss: must be true: etcd is restored from the data of masterNode-2 at revision "},
		{"of workers", `{"restore": "survivor", "confirm_loss": true}`, []string{"workerNode-0"}, "names no control-plane node"},
		{"of the whole VNF", `{"restore": "survivor", "confirm_loss": true}`, nil, "needs vnfcInstanceId with the control-plane nodes that are lost"},
		{"another value", `{"restore": "yesterday"}`, lost, `additionalParams.restore: "yesterday": must be`},
		{"another check", `{"restore": "survivor", "confirm_loss": true, "restore_pass_over": ["all"]}`, lost, `restore_pass_over: "all": is no check`},
		{"a whole heal", `{"all": true}`, nil, "additionalParams.restore: is required: masterNode-2 has the data of the cluster"},
		{"no snapshot", fromLatest, lost, "needs a snapshot of the VNF instance"},
	} {
		request := vnflcm.HealVnfRequest{AdditionalParams: mustParams(c.attributes)}
		if c.machines != nil {
			request.VnfcInstanceID = l.vnfcs(id, c.machines...)
		}
		_, err := l.Heal(t.Context(), id, request)
		if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	preview, err := l.Preview(t.Context(), id, l.restoring(id, fromSurvivor, lost...))
	if err != nil || len(preview.Losses) != 1 || !strings.Contains(preview.String(), "Data that are given up: etcd is restored from the data of masterNode-2 at revision ") {
		t.Errorf("%v\n%v", err, preview)
	}
	refuseSnapshots(t, openLab(t, setup{from: l.Snapshot(), snapshots: archives(t)}), id, lost)
	// Without a machine and a snapshot that have the data, requests of Tacker's guides work as they are.
	l.stop("masterNode-2")
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
	l.want(3, 1, 0)
}

// refuseSnapshots checks requests to restore a snapshot that are refused. One control-plane node has data.
func refuseSnapshots(t *testing.T, l *lab, id string, lost []string) {
	t.Helper()
	s := l.saved(id)
	all := append(slices.Clone(lost), "masterNode-2")
	refused := func(name string, request vnflcm.HealVnfRequest, want string) {
		t.Helper()
		if _, err := l.Heal(t.Context(), id, request); !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	loss := "additionalParams.confirm_loss: must be true: etcd is restored from snapshot " + s.ID + " of " + s.About["node"] + ", taken "
	refused("not confirmed", l.restoring(id, `{"restore": "latest"}`, lost...), loss)
	refused("by id", l.restoring(id, `{"restore": "`+s.ID+`"}`, all...), loss)
	refused("another id", l.restoring(id, `{"restore": "yesterday", "confirm_loss": true}`, lost...), `additionalParams.restore: "yesterday": must be survivor, latest, none or the id`)
	refused("while a machine has the data", vnflcm.HealVnfRequest{}, "is required: masterNode-2 has the data of the cluster")
	heal, err := l.Heal(t.Context(), id, l.restoring(id, fromSurvivor, lost...))
	l.Must(heal, err)
	refused("with later data", l.restoring(id, `{"restore": "latest"}`, lost...), "has later data, at revision ")
	l.stop(all...)
	refused("while a snapshot has the data", vnflcm.HealVnfRequest{}, "is required: snapshot "+s.ID+", taken ")
	for _, attributes := range []string{`{"restore": "none"}`, fromLatest} {
		preview, err := l.Preview(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: mustParams(attributes)})
		if err != nil || strings.Contains(preview.String(), "Data that are given up: etcd is restored from snapshot "+s.ID) != (attributes == fromLatest) {
			t.Errorf("%s: %v\n%v", attributes, err, preview)
		}
	}
}

// TestRestoreOfOne: the address of the API is lost with the only control-plane node, and a script of the package makes a new cluster.
func TestRestoreOfOne(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{
		"instantiate_sandbox.json": "has the address of the API, which no node could reach on another machine: heal the whole VNF, with the same restore",
		"instantiate_script.json":  "needs a control-plane node that stays: the package's script makes a new cluster",
	} {
		t.Run(request, func(t *testing.T) {
			t.Parallel()
			l := openLab(t, setup{snapshots: archives(t)})
			id := l.Instantiated(request, clustertest.Sized("simple", 0))
			l.keep(id, "before")
			l.saved(id)
			_, err := l.Heal(t.Context(), id, l.restoring(id, fromLatest, "masterNode-0"))
			if !errors.Is(err, vnflcm.ErrInvalidRequest) || !strings.Contains(err.Error(), want) {
				t.Error(err)
			}
			if request == "instantiate_script.json" {
				return
			}
			l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{AdditionalParams: mustParams(fromLatest)}))
			l.want(1, 1, 0)
			if !l.keeps(id, "before") {
				t.Error("an object from before is gone")
			}
		})
	}
}

// TestRestoreAnother: a snapshot of an earlier cluster is not restored onto nodes of a later one, whose keys differ.
func TestRestoreAnother(t *testing.T) {
	t.Parallel()
	l := openLab(t, setup{snapshots: archives(t)})
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("simple", 0))...)
	l.saved(id)
	l.Must(l.Heal(t.Context(), id, wholeHeal))
	opID, err := l.Heal(t.Context(), id, l.restoring(id, fromLatest, "masterNode-0"))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "the check authority (restore_pass_over)") {
		t.Error(err)
	}
}

// TestRestoreWithQuorum: while etcd has a quorum, a heal keeps all data, and a restore is done only if the request says so. Two members are restored
// together then.
func TestRestoreWithQuorum(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.keep(id, "before")
	l.stop("masterNode-0")
	opID, err := l.Heal(t.Context(), id, l.restoring(id, fromSurvivor, "masterNode-0"))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "the check quorum (restore_pass_over): etcd has a quorum, so that a heal without restore keeps all data") {
		t.Error(err)
	}
	if err := l.Fail(t.Context(), opID); err != nil {
		t.Fatal(err)
	}
	opID, err = l.Heal(t.Context(), id, l.restoring(id, `{"restore": "survivor", "confirm_loss": true, "restore_pass_over": ["quorum"]}`, "masterNode-0"))
	l.Must(opID, err)
	l.want(3, 1, 0)
	l.wantMembers("masterNode-0", "masterNode-1", "masterNode-2")
	if text := l.warnings(opID); !strings.Contains(text, "passed over by the request: quorum") || !l.keeps(id, "before") {
		t.Errorf("warnings: %s", text)
	}
}

// TestRestoreWithoutSurvivor: a control-plane node that stays and does not answer is not left out by itself, because it could run with other data.
func TestRestoreWithoutSurvivor(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	id := l.Instantiated("instantiate_sandbox.json", append(virtual(t), clustertest.Sized("complex", 0))...)
	l.stop("masterNode-0", "masterNode-1", "masterNode-2")
	opID, err := l.Heal(t.Context(), id, l.restoring(id, fromSurvivor, "masterNode-0", "masterNode-1"))
	if err := l.Fails(opID, err); !strings.Contains(err.Error(), "the check survivors (restore_pass_over)") || errors.Is(err, etcd.ErrQuorum) {
		t.Error(err)
	}
}
