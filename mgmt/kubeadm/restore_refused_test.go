package kubeadm_test

import (
	"errors"
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
	// Without a machine that has the data, requests of Tacker's guides work as they are.
	l.stop("masterNode-2")
	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
	l.want(3, 1, 0)
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
