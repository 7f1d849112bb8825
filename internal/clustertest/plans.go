package clustertest

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/vnfkit/vnfkit/vnflcm"
	"github.com/vnfkit/vnfkit/vnflcm/crashtest"
)

// CheckPlan previews and runs an operation, and compares the plan with the file plans/NAME.txt, for reviewers, and the steps
// of the journal with the plan, except for tasks that have a condition. The keys of the journal must be those of the file
// journal/NAME.txt, which released versions have written. Otherwise a new version could not finish operations that an old
// version has begun. The request is one of the types of vnflcm; stepName returns PHASE/STEP/MACHINE in terms that are the
// same in every run.
func (l *Lab) CheckPlan(name, id string, request any, stepName func(vnflcm.StepInfo) string) {
	t := l.t
	t.Helper()
	recorded := new(crashtest.Steps)
	m := l.Process(recorded.Record)
	stored := l.Stored()
	plan, err := m.Preview(t.Context(), id, request)
	if err != nil {
		t.Fatal(err)
	}
	if l.Stored() != stored {
		t.Error("Preview has stored something")
	}
	plan.Losses = nil // they name revisions and times
	opID, err := l.Start(m, id, request)
	l.Must(opID, err, m)
	var steps []string
	for _, info := range recorded.List() {
		if isHook(info.Phase) {
			steps = append(steps, stepName(info))
		}
	}
	slices.Sort(steps)
	Golden(t, "plans/"+name+".txt", idForm.ReplaceAll([]byte(plan.String()), nil))
	Golden(t, "journal/"+name+".txt", []byte(strings.Join(steps, "\n")+"\n"))
	if diff := cmp.Diff(plannedSteps(plan, steps), steps); diff != "" {
		t.Errorf("the journal is not the plan:\n%s", diff)
	}
}

// idForm is the id of a VNFC behind its name. Ids differ in every run.
var idForm = regexp.MustCompile(` \([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\)`)

// Start starts the operation for a request.
func (l *Lab) Start(m *vnflcm.Manager, id string, request any) (string, error) {
	ctx := l.t.Context()
	switch r := request.(type) {
	case vnflcm.InstantiateVnfRequest:
		return m.Instantiate(ctx, id, r)
	case vnflcm.ScaleVnfRequest:
		return m.Scale(ctx, id, r)
	case vnflcm.HealVnfRequest:
		return m.Heal(ctx, id, r)
	case vnflcm.TerminateVnfRequest:
		return m.Terminate(ctx, id, r)
	case vnflcm.OperateVnfRequest:
		return m.Operate(ctx, id, r)
	case vnflcm.MaintainVnfRequest:
		return m.Maintain(ctx, id, r)
	case vnflcm.ChangeCurrentVnfPkgRequest:
		return m.ChangeVnfPkg(ctx, id, r)
	case vnflcm.RevertToVnfSnapshotRequest:
		return m.RevertToSnapshot(ctx, id, r)
	}
	return "", errors.ErrUnsupported
}

// isHook reports whether a phase is a hook, a maintenance task, a part of a batch or a revert of the driver, not a phase of the sandbox.
func isHook(phase string) bool {
	isBatch := strings.HasPrefix(phase, string(vnflcm.BeforeBatchPhase)) || strings.HasPrefix(phase, string(vnflcm.AfterBatchPhase))
	return isBatch || phase == string(vnflcm.RevertPhase) || strings.HasPrefix(phase, string(vnflcm.MaintenancePhase)+":") || strings.HasSuffix(phase, "_start") || strings.HasSuffix(phase, "_end")
}

// plannedSteps returns the steps of a plan. It leaves out a step with a condition unless the step has run. Two tasks with opposite
// conditions may be one step.
func plannedSteps(plan *vnflcm.Preview, run []string) (out []string) {
	for _, task := range plan.Tasks {
		step := task.Phase + "/" + task.Name + "/" + task.Machine
		if isHook(task.Phase) && !task.Repeats && (task.If == "" || slices.Contains(run, step)) {
			out = append(out, step)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
