package plan_test

import (
	"errors"
	"testing"

	"github.com/vnfkit/vnfkit/mgmt/internal/plan"
	"github.com/vnfkit/vnfkit/vnflcm"
)

// TestOperations checks which plan an operation has. A rollback has the request of the inverse operation.
func TestOperations(t *testing.T) {
	t.Parallel()
	named := func(name string) func(string) *plan.Plan[*journal] {
		return func(shape string) *plan.Plan[*journal] {
			p := &plan.Plan[*journal]{}
			p.Begin(vnflcm.Hook(name + " of " + shape))
			return p
		}
	}
	o := plan.Operations[string, *journal]{Instantiate: named("instantiate"), ScaleOut: named("scale-out"), ScaleIn: named("scale-in"),
		Heal: named("heal"), Terminate: named("terminate"), Operate: named("operate"), Revert: named("revert")}
	for want, data := range map[vnflcm.Hook]vnflcm.OperationData{
		"instantiate of a": {Instantiate: &vnflcm.InstantiateVnfRequest{}},
		"scale-out of a":   {Scale: &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleOut}},
		"scale-in of a":    {Scale: &vnflcm.ScaleVnfRequest{Type: vnflcm.ScaleIn}, RollingBack: true},
		"heal of a":        {Heal: &vnflcm.HealVnfRequest{}},
		"operate of a":     {Operate: &vnflcm.OperateVnfRequest{}},
		"revert of a":      {RevertToSnapshot: &vnflcm.RevertToVnfSnapshotRequest{}},
		"terminate of a":   {Terminate: &vnflcm.TerminateVnfRequest{}, RollingBack: true},
	} {
		if got := o.Plan(&vnflcm.Operation{OperationData: data}, "a").Phases[0].Hook; got != want {
			t.Errorf("plan %s, want %s", got, want)
		}
	}
	without := plan.Operations[string, *journal]{Instantiate: named("instantiate")}
	if tasks := without.Plan(&vnflcm.Operation{OperationData: vnflcm.OperationData{Operate: &vnflcm.OperateVnfRequest{}}}, "a").Preview(); len(tasks) > 0 || without.Hooks(1, nil)[vnflcm.OperateStart] != nil {
		t.Errorf("a driver without hooks of a stop has them, or the tasks %v", tasks)
	}
	for hook, do := range o.Hooks(1, nil) {
		if err := do(t.Context(), &vnflcm.Operation{}); !errors.Is(err, vnflcm.ErrProgramming) {
			t.Errorf("%s of an operation that no Manager has made: %v", hook, err)
		}
	}
}
