package vnflcm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
)

var (
	stop  = vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopForceful}
	start = vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStarted}
)

// stopped instantiates a VNF and stops it.
func stopped(x *toys, id string) {
	x.t.Helper()
	running(x, id)
	opID, err := x.Operate(x.t.Context(), id, stop)
	x.wait(opID, err, vnflcm.Completed)
}

// states are the operational states in a document of an instance.
func (x *toys) states(id string) (states []vnflcm.VnfState) {
	info := x.get(id).InstantiatedVnfInfo
	states = append(states, info.VnfState)
	for _, v := range info.VnfcInfo {
		states = append(states, v.VnfcState)
	}
	return states
}

// TestOperate: workers are stopped before masters and started after them, and everything else of the instance stays.
func TestOperate(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	before := x.get(id)
	opID, err := x.Operate(t.Context(), id, vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 30})
	occ, _ := x.wait(opID, err, vnflcm.Completed)
	if occ.Operation != vnflcm.OpOperate || occ.CanRollBack || len(occ.ResourceChanges.AffectedVnfcs) > 0 {
		t.Errorf("the operation is %+v", occ)
	}
	if diff := cmp.Diff([]string{"worker-0", "worker-1", "master-0"}, x.world.state(id).Off); diff != "" {
		t.Errorf("machines that are off, in their order:\n%s", diff)
	}
	if diff := cmp.Diff([]vnflcm.VnfState{"STOPPED", "STOPPED", "STOPPED", "STOPPED"}, x.states(id)); diff != "" {
		t.Error(diff)
	}
	x.world.failAt("operate/operate/worker-0", errCut)
	opID, err = x.Operate(t.Context(), id, start)
	x.wait(opID, err, vnflcm.FailedTemp)
	if diff := cmp.Diff([]string{"worker-0", "worker-1"}, x.world.state(id).Off); diff != "" {
		t.Errorf("machines that are off:\n%s", diff)
	}
	wantIs(t, x.Rollback(t.Context(), opID), vnflcm.ErrNotSupported)
	x.world.failAt("operate/operate/worker-0", nil)
	x.start()
	x.wait(opID, x.Retry(t.Context(), opID), vnflcm.Completed)
	if off := x.world.state(id).Off; len(off) > 0 {
		t.Errorf("%v are off", off)
	}
	after := x.get(id)
	if before.Version, after.Version = "", ""; !cmp.Equal(before, after) {
		t.Errorf("the instance has changed:\n%s", cmp.Diff(before, after))
	}
	opID, err = x.Heal(t.Context(), id, vnflcm.HealVnfRequest{VnfcInstanceID: []string{"worker-0"}})
	x.wait(opID, err, vnflcm.Completed)
}

// TestOperateFails: after Fail the VNF has the state that it had before, and each state can be asked for again.
func TestOperateFails(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id := x.instantiated("plain")
	for _, c := range []struct {
		request vnflcm.OperateVnfRequest
		state   vnflcm.VnfState
	}{{stop, vnflcm.VnfStarted}, {start, vnflcm.VnfStopped}} {
		x.world.failAt("operate/operate/worker-1", errCut)
		opID, err := x.Operate(t.Context(), id, c.request)
		x.wait(opID, err, vnflcm.FailedTemp)
		must(t, x.Fail(t.Context(), opID))
		if got := x.states(id)[0]; got != c.state {
			t.Errorf("after a failed %s the state is %s", c.request.ChangeStateTo, got)
		}
		x.world.failAt("operate/operate/worker-1", nil)
		opID, err = x.Operate(t.Context(), id, c.request)
		x.wait(opID, err, vnflcm.Completed)
	}
	stoppedAgain, err := x.Operate(t.Context(), id, stop)
	x.wait(stoppedAgain, err, vnflcm.Completed)
	opID, err := x.Terminate(t.Context(), id, vnflcm.TerminateVnfRequest{TerminationType: vnflcm.TerminateForceful})
	x.wait(opID, err, vnflcm.Completed)
	opID, err = x.Instantiate(t.Context(), id, vnflcm.InstantiateVnfRequest{FlavourID: "plain"})
	x.wait(opID, err, vnflcm.Completed)
	if got := x.states(id)[0]; got != vnflcm.VnfStarted {
		t.Errorf("an instance that was stopped, terminated and instantiated is %s", got)
	}
}

// TestOperateRefusals: a fault of the request, or an operation that a stopped VNF does not take, changes nothing.
func TestOperateRefusals(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	id, created := x.create(), x.create()
	_, err := x.Operate(t.Context(), created, stop)
	wantIs(t, err, vnflcm.ErrState)
	stopped(x, id)
	before := x.records()
	for body, paths := range map[string][]string{
		`{}`:                          {"changeStateTo"},
		`{"changeStateTo":"stopped"}`: {"changeStateTo"},
		`{"changeStateTo":"STARTED","stopType":"FORCEFUL"}`:                                {"stopType"},
		`{"changeStateTo":"STOPPED","stopType":"SOFT","gracefulStopTimeout":3}`:            {"stopType", "gracefulStopTimeout"},
		`{"changeStateTo":"STOPPED","stopType":"GRACEFUL"}`:                                {"gracefulStopTimeout"},
		`{"changeStateTo":"STOPPED","stopType":"GRACEFUL","gracefulStopTimeout":-1}`:       {"gracefulStopTimeout"},
		`{"changeStateTo":"STOPPED","stopType":"GRACEFUL","gracefulStopTimeout":31536001}`: {"gracefulStopTimeout"},
		`{"changeStateTo":"STOPPED","gracefulStopTimeout":3}`:                              {"gracefulStopTimeout"},
		`{"changeStateTo":"STOPPED","stopType":"FORCEFUL","gracefulStopTimeout":3}`:        {"gracefulStopTimeout"},
		`{"changeStateTo":"STARTED","additionalParams":{"password":"***"}}`:                {"additionalParams.password"},
	} {
		var request vnflcm.OperateVnfRequest
		must(t, json.Unmarshal([]byte(body), &request))
		_, err := x.Operate(t.Context(), id, request)
		wantFaults(t, err, paths...)
	}
	properties := params(t, `{"a":1}`)
	name := "renamed"
	for what, begin := range map[string]func() (string, error){
		"heal":     func() (string, error) { return x.Heal(t.Context(), id, vnflcm.HealVnfRequest{}) },
		"scale":    func() (string, error) { return x.Scale(t.Context(), id, scale(vnflcm.ScaleOut, 1)) },
		"to level": func() (string, error) { return x.ScaleToLevel(t.Context(), id, toLevels("masters", 1, "workers", 0)) },
		"networks": func() (string, error) {
			return x.ChangeExtConn(t.Context(), id, vnflcm.ChangeExtVnfConnectivityRequest{ExtVirtualLinks: link("b", "net-b", "worker_cp")})
		},
		"certificates": func() (string, error) {
			_, err := x.Certificates(t.Context(), id)
			return "", err
		},
		"maintain": func() (string, error) { return x.Maintain(t.Context(), id, renewal(t, "{}")) },
		"configure": func() (string, error) {
			return x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfConfigurableProperties: properties}, "")
		},
		"extend": func() (string, error) {
			return x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name, Extensions: properties}, "")
		},
	} {
		if _, err := begin(); !errors.Is(err, vnflcm.ErrState) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if diff := cmp.Diff(before, x.records()); diff != "" {
		t.Errorf("the store changed:\n%s", diff)
	}
	opID, err := x.Modify(t.Context(), id, vnflcm.VnfInfoModificationRequest{VnfInstanceName: &name}, "")
	x.wait(opID, err, vnflcm.Completed)
	if n := x.world.done["modify_information_end/configure/"]; n != 0 {
		t.Error("a hook of the modification has run on a stopped VNF")
	}
}

// TestOperationsOfOlderStores: an earlier version of vnfkit that works on the store would take these operations for terminations.
func TestOperationsOfOlderStores(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(*toys, string) (string, error){
		"operate":           func(x *toys, id string) (string, error) { return x.Operate(x.t.Context(), id, stop) },
		"change of package": func(x *toys, id string) (string, error) { return x.ChangeVnfPkg(x.t.Context(), id, toNew(x.t, "{}")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newToys(t, bothVersions)
			id := x.instantiated("plain")
			must(t, vnflcm.SetFormat(t.Context(), x.Manager, 1, false))
			if _, err := begin(x, id); !errors.Is(err, vnflcm.ErrState) {
				t.Errorf("in format 1: %v", err)
			}
			_, err := x.Migrate(t.Context())
			must(t, err)
			opID, err := begin(x, id)
			x.wait(opID, err, vnflcm.Completed)
		})
	}
}

// withoutOperate is a driver with the methods of every InfraDriver only.
type withoutOperate struct{ vnflcm.InfraDriver }

// TestOperateNeedsAnOperator: a driver that cannot stop machines refuses the request.
func TestOperateNeedsAnOperator(t *testing.T) {
	t.Parallel()
	x := newToys(t, func(cfg *vnflcm.Config) { cfg.Infra["toy"] = withoutOperate{cfg.Infra["toy"]} })
	_, err := x.Operate(t.Context(), x.instantiated("plain"), stop)
	wantIs(t, err, vnflcm.ErrNotSupported)
}

// leaving is a StopOrderer with hooks of an OPERATE.
type leaving struct{ cluster }

func (d *leaving) Hooks() vnflcm.Hooks {
	hooks := d.cluster.Hooks()
	for _, hook := range []vnflcm.Hook{vnflcm.OperateStart, vnflcm.OperateEnd} {
		hooks[hook] = func(ctx context.Context, op *vnflcm.Operation) error {
			return d.step(ctx, op, "routes", "", nil, func() { d.nodes[op.InstanceID][string(hook)] = fmt.Sprint(len(d.off[op.InstanceID]), " off") })
		}
	}
	return hooks
}

// TestStopperHooks: the hooks of the driver that orders a stop run although the VNFD does not name them.
func TestStopperHooks(t *testing.T) {
	t.Parallel()
	x := newToys(t, nil)
	x.cfg.Mgmt = map[string]vnflcm.MgmtDriver{"cluster": &leaving{cluster{world: x.world}}}
	x.start()
	id := x.instantiated("plain")
	opID, err := x.Operate(t.Context(), id, stop)
	x.wait(opID, err, vnflcm.Completed)
	nodes := x.world.state(id).Nodes
	if diff := cmp.Diff([]string{"0 off", "3 off"}, []string{nodes["operate_start"], nodes["operate_end"]}); diff != "" {
		t.Error(diff)
	}
}

// TestGracefulStopLimits: a graceful stop has at least the time that the VNFD states, and a warning if it has more than the VNFD recommends.
func TestGracefulStopLimits(t *testing.T) {
	t.Parallel()
	files := toyFS("cluster", "plain")
	const flavour, property = "Definitions/plain.yaml", "flavour_description: "
	limits := "lcm_operations_configuration: {operate: {min_graceful_stop_timeout: 20 s, max_recommended_graceful_stop_timeout: 1 m}}, "
	files[flavour].Data = bytes.Replace(files[flavour].Data, []byte(property), []byte(limits+property), 1)
	x := newToys(t, onPackages(toyPackages(files)))
	id := x.instantiated("plain")
	request := vnflcm.OperateVnfRequest{ChangeStateTo: vnflcm.VnfStopped, StopType: vnflcm.StopGraceful, GracefulStopTimeout: 19}
	_, err := x.Operate(t.Context(), id, request)
	wantFaults(t, err, "gracefulStopTimeout")
	for seconds, warnings := range map[int]int{20: 0, 60: 0, 61: 1} {
		request.GracefulStopTimeout = seconds
		opID, err := x.Operate(t.Context(), id, request)
		occ, _ := x.wait(opID, err, vnflcm.Completed)
		if len(occ.Warnings) != warnings {
			t.Errorf("%d seconds: warnings %q", seconds, occ.Warnings)
		}
	}
}
