package e2e_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vnfkit/vnfkit/sshexec"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestKubesprayTwo: two clusters at once on one Ansible server. The first is cancelled in the middle of its playbook, and
// tried again; the other one does not notice.
func TestKubesprayTwo(t *testing.T) {
	t.Parallel()
	y, server := newKubesprayYard(t, nil)
	ctx := t.Context()
	var ids, ops [2]string
	for i := range ids {
		id, request := y.kubesprayed(server)
		request.InstantiationLevelID = "instantiation_level_1"
		op, err := y.Instantiate(ctx, id, request)
		must(t, err)
		ids[i], ops[i] = id, op
	}
	// Both play: what is in the arguments is where the inventory of each is.
	mine := func() bool { return server.playing(t, ids[0]) }
	awaitFor(t, 3*time.Minute, "both playbooks to run", func() bool { return mine() && server.playing(t, ids[1]) })
	must(t, y.Cancel(ctx, ops[0], vnflcm.CancelForceful))
	t.Logf("cancelled: %v", y.failure(ops[0], nil))
	if mine() {
		t.Error("the cancelled playbook goes on")
	}
	y.must(ops[0], y.Retry(ctx, ops[0]))
	y.must(ops[1], nil)
	for _, id := range ids {
		y.wantNodes(id, 1, 1)
		y.wantVIM(id)
	}
	for _, id := range ids {
		y.must(y.Terminate(ctx, id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful}))
		y.gone(id)
	}
	server.clean(t)
}

// TestKubesprayRefused: what is wrong is said before a machine is made, or at least before one is changed.
func TestKubesprayRefused(t *testing.T) {
	t.Parallel()
	y, server := newKubesprayYard(t, nil)
	ctx := t.Context()
	const foreign = "/home/" + ansibleUser + "/mine"
	must(t, server.Exec(ctx, sshexec.Command{Argv: []string{"mkdir", foreign}}))
	must(t, server.Upload(ctx, strings.NewReader("[all]\n"), sshexec.File{Path: foreign + "/hosts.ini", Mode: 0o644}))
	server.before = server.files(t)
	for _, c := range []struct{ name, parameters, want string }{
		{"wrong password", `{"password": "wrong"}`, "authenticat"},
		{"no playbooks", `{"kubespray_root_path": "/home/ansible/elsewhere"}`, "/home/ansible/elsewhere"},
		{"a foreign directory", `{"transferring_inventory_path": "` + foreign + `"}`, foreign},
		{"a foreign file", `{"transferring_inventory_path": "` + foreign + `/hosts.ini"}`, foreign + "/hosts.ini"},
	} {
		id, request := y.kubesprayed(server, `{"k8s_cluster_installation_param": {"ansible": `+c.parameters+`}}`)
		op, err := y.Instantiate(ctx, id, request)
		err = y.failure(op, err)
		t.Logf("%s: %v", c.name, err)
		if !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: the error does not tell %q", c.name, c.want)
		}
		if tells(err.Error()) {
			t.Errorf("%s: the error tells a password", c.name)
		}
		if op != "" {
			must(t, y.Rollback(ctx, op))
			_, err = y.Wait(within(t, patience), op)
			t.Logf("%s: rolled back: %v", c.name, err)
		}
	}
	if got := server.runs(t); len(got) != 1 || got[0] != "" {
		t.Errorf("playbooks were run: %q", got)
	}
	server.clean(t)
}
