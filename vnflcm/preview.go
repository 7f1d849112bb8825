package vnflcm

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Preview is what an operation would do.
type Preview struct {
	InstanceID string
	Operation  LcmOperation
	Levels     map[string]int // the scale levels after the operation
	Change     Change         // what happens to the VNFCs
	Tasks      []PlannedTask  // the phases one after the other
	// Losses are the data that the operation gives up, as drivers tell them (LossTeller).
	Losses []string
	// CNFs are the VNF instances on clusters that the VNF has become, by id: they end when the VNF is terminated, and do not work while it is
	// stopped. OtherCNFs is how many instances of other tenants there are beside them.
	CNFs      []string
	OtherCNFs int
	// Package is set for a CHANGE_VNFPKG.
	Package *PackagePreview
	// Mixed is the VNFD by which a part of the VNF runs now, beside that of the instance, because a change of its package was given up. "": the
	// VNF is not mixed.
	Mixed string
}

// String returns the preview as a table: a line per task with its number, its step, its machine, the numbers of the tasks that come
// immediately before, and its purpose. A last line names the VNF instances that end or stop with the cluster.
func (p *Preview) String() string {
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	phase := ""
	for i, t := range p.Tasks {
		if t.Phase != phase {
			phase = t.Phase
			_, _ = fmt.Fprintf(table, "%s\n", phase)
		}
		after := ""
		if len(t.After) > 0 {
			after = "after " + numbers(t.After)
		}
		_, _ = fmt.Fprintf(table, "  %d\t%s\t%s\t%s\t%s\n", i+1, t.Name, t.Machine, after, t.remark())
	}
	_ = table.Flush() // to memory
	for _, loss := range p.Losses {
		_, _ = fmt.Fprintf(&out, "Data that are given up: %s\n", loss)
	}
	if p.Package != nil {
		p.Package.write(&out)
	}
	if p.Mixed != "" {
		_, _ = fmt.Fprintf(&out, "The VNF is mixed: a part of it runs by VNFD %s\n", p.Mixed)
	}
	if users := (vimUsers{p.CNFs, p.OtherCNFs}).String(); users != "" {
		verb := "end"
		if p.Operation == OpOperate {
			verb = "stop"
		}
		_, _ = fmt.Fprintf(&out, "VNF instances that %s with the cluster: %s\n", verb, users)
	}
	return out.String()
}

// remark is what the task is for, and what is special about it.
func (t PlannedTask) remark() string {
	text := t.Why
	if t.If != "" {
		text += " (if " + t.If + ")"
	}
	if t.Alone != "" {
		text += " (one at a time: " + t.Alone + ")"
	}
	if t.Repeats {
		text += " (repeated when resumed)"
	}
	return text
}

// numbers counts from 1, and writes ranges: "1, 3-5".
func numbers(positions []int) string {
	var parts []string
	for i := 0; i < len(positions); i++ {
		first := positions[i]
		for i+1 < len(positions) && positions[i+1] == positions[i]+1 {
			i++
		}
		part := strconv.Itoa(first + 1)
		if positions[i] > first {
			part += "-" + strconv.Itoa(positions[i]+1)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ", ")
}

// PlannedTask is one thing that an operation would do on one machine, or on the VNF as a whole.
type PlannedTask struct {
	Phase string // as in events: a hook, or what the infrastructure driver does
	Name  string // of the step in events and in the history; "" if the driver does not tell what it does
	// On is the id of the VNFC. It is empty for the VNF as a whole. A VNFC that does not exist yet has the id that the
	// infrastructure driver announces, and another one in the operation.
	On      string
	Machine string // the name of the machine, for readers
	Why     string // purpose of the task, in one sentence
	If      string // the condition under which the task does something, where only the operation can tell; "" is always
	Alone   string // a resource that only one of the tasks with the same text uses at a time; "" if there is no such resource
	Repeats bool   // the task is no step: it has no events, and a resumed operation runs it again
	After   []int  // the tasks that come immediately before, as positions in Preview.Tasks
}

// Previewer is a MgmtDriver that tells its tasks before it runs them.
type Previewer interface {
	// Preview returns the tasks of the hooks of an operation. Phase is the name of a hook; After has positions in the returned list, of
	// tasks of the same hook. op is as for Validate, and op.Change has what the infrastructure driver has planned. Preview touches
	// nothing.
	Preview(ctx context.Context, op *Operation) ([]PlannedTask, error)
}

// LossTeller is a MgmtDriver that tells before an operation which data it gives up.
type LossTeller interface {
	// Losses returns a sentence for each loss, nil for none. It changes nothing, but may ask machines: the answer can differ when the
	// operation begins. op is as for Validate.
	Losses(ctx context.Context, op *Operation) ([]string, error)
}

// Preview returns what an operation would do, without touching anything. request is an InstantiateVnfRequest, ScaleVnfRequest,
// ScaleVnfToLevelRequest, HealVnfRequest, TerminateVnfRequest, OperateVnfRequest, ChangeCurrentVnfPkgRequest, CreateVnfSnapshotRequest, RevertToVnfSnapshotRequest,
// MaintainVnfRequest, or a VnfInfoModificationRequest that starts a maintenance (Configurer). The errors are those of the operation. Hooks of
// drivers that are no Previewer have one task without a name.
func (m *Manager) Preview(ctx context.Context, instanceID string, request any) (*Preview, error) {
	request, err := m.maintenanceBy(ctx, instanceID, request)
	if err != nil {
		return nil, err
	}
	kind, request, prepare, err := previewed(request)
	if err != nil {
		return nil, err
	}
	inst, _, err := m.instance(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	if err := m.admissible(ctx, inst, kind); err != nil {
		return nil, err
	}
	rec, err := m.planned(ctx, inst, kind, request, prepare)
	if err != nil {
		return nil, err
	}
	opened, err := m.openPackages(ctx, inst, rec)
	if err != nil {
		return nil, err
	}
	defer opened.close()
	list, err := m.plannedTasks(ctx, opened, inst, rec)
	if err != nil {
		return nil, err
	}
	losses, err := m.losses(ctx, opened, inst, rec)
	if err != nil {
		return nil, err
	}
	p := &Preview{Losses: losses, InstanceID: instanceID, Operation: kind, Levels: rec.Levels, Change: rec.Planned, Tasks: list, Package: rec.packagePreview()}
	if inst.Mixed != nil {
		p.Mixed = inst.Mixed.To.VnfdID
	}
	if kind != OpTerminate && (kind != OpOperate || !rec.stops(inst)) {
		return p, nil
	}
	users, err := m.records.usersOn(ctx, inst)
	p.CNFs, p.OtherCNFs = users.ids, users.hidden
	return p, err
}

// losses asks the management drivers what the operation gives up.
func (m *Manager) losses(ctx context.Context, opened openPackages, inst *instanceRecord, rec *operationRecord) (out []string, err error) {
	s, err := m.session(ctx, opened, inst, rec, "preview")
	if err != nil {
		return nil, err
	}
	for _, driver := range s.drivers() {
		teller, tells := driver.(LossTeller)
		if !tells {
			continue
		}
		err := s.call(ctx, func() error {
			lost, err := teller.Losses(ctx, s.op)
			out = append(out, lost...)
			return err
		})
		if err != nil {
			return nil, s.masked(err)
		}
	}
	return out, nil
}

// previewed returns the kind of operation of a request, and how it is prepared.
func previewed(request any) (LcmOperation, any, func(*instanceRecord, *operationRecord), error) {
	switch r := request.(type) {
	case InstantiateVnfRequest:
		return OpInstantiate, r, r.prepare, nil
	case ScaleVnfRequest:
		return OpScale, r.completed(), nil, nil
	case ScaleVnfToLevelRequest:
		return OpScaleToLevel, r, nil, nil
	case HealVnfRequest:
		return OpHeal, r, nil, r.check()
	case TerminateVnfRequest:
		return OpTerminate, r, nil, nil
	case OperateVnfRequest:
		return OpOperate, r, nil, nil
	case ChangeCurrentVnfPkgRequest:
		return OpChangeVnfPkg, r, nil, nil
	case CreateVnfSnapshotRequest:
		return OpCreateSnapshot, r, nil, nil
	case RevertToVnfSnapshotRequest:
		return OpRevertToSnapshot, r, nil, nil
	case MaintainVnfRequest:
		return OpModifyInfo, r.stored(), nil, r.check()
	case *storedConfiguration:
		return OpModifyInfo, r, nil, nil
	}
	return "", nil, nil, fmt.Errorf("%w: no preview of a %T", ErrNotSupported, request)
}

// plannedTasks asks the drivers of all phases.
func (m *Manager) plannedTasks(ctx context.Context, opened openPackages, inst *instanceRecord, rec *operationRecord) (out []PlannedTask, err error) {
	vnfcs := rec.VNFCs
	for _, p := range rec.phases() {
		s, err := m.session(ctx, opened, inst, rec, p.name)
		if err != nil {
			return nil, err
		}
		s.op.VNFCs = vnfcs
		s.op.enter(rec, p)
		list, err := s.tasksOf(ctx, p)
		if err != nil {
			return nil, s.masked(err)
		}
		out = appendTasks(out, p, list)
		if p.infra != nil && (p.scaling > 0 || p.batch > 0) {
			vnfcs = s.op.Change.expected(vnfcs) // what the next scaling begins with
		}
	}
	return out, nil
}

// tasksOf returns the tasks of one phase, and of other phases of the driver.
func (s *session) tasksOf(ctx context.Context, p phase) (list []PlannedTask, err error) {
	if p.infra != nil {
		list = s.op.Change.tasks(p.name)
		switch s.op.Kind {
		case OpChangeVnfPkg:
			list = s.unitTasks(p)
		case OpOperate:
			if list, err = s.operateTasks(ctx); err != nil {
				return nil, err
			}
		}
		for i := range list {
			if s.op.VIMGone {
				list[i].Why = "the machine ended with the cluster"
			}
		}
		return list, nil
	}
	if p.part != noBatchPart {
		return s.batchTasks(ctx, p)
	}
	name := p.maintainer
	switch {
	case s.op.CreateSnapshot != nil:
		return []PlannedTask{{Phase: p.name, Name: "snapshot", Why: "the data of the VNF are saved and tested"}}, nil
	case p.snapshot:
		if _, name, err = s.snapshotter(); err != nil {
			return nil, err
		}
	case name == "":
		name = cmp.Or(s.op.Flavour.Hooks[string(p.hook)].Driver, s.stopper(p.hook))
	case !slices.Contains(s.maintainers(), name):
		return nil, nil
	}
	if name == "" {
		return nil, nil
	}
	driver, tells := s.m.cfg.Mgmt[name].(Previewer)
	if !tells {
		return []PlannedTask{{Phase: string(p.hook), Why: "the driver " + name + " does not tell what it does"}}, nil
	}
	err = s.call(ctx, func() (err error) { list, err = driver.Preview(ctx, s.op); return err })
	return list, err
}

// appendTasks appends the tasks of one phase of those that a driver returns, under the name of the phase.
func appendTasks(to []PlannedTask, p phase, list []PlannedTask) []PlannedTask {
	position := map[int]int{}
	for i, t := range list {
		if p.infra == nil && t.Phase != p.previewed() {
			continue
		}
		position[i] = len(to)
		t.Phase, t.After = p.name, slices.Clone(t.After)
		for k, before := range t.After {
			t.After[k] = position[before]
		}
		to = append(to, t)
	}
	return to
}

// tasks are what the infrastructure driver does, machine by machine.
func (c Change) tasks(phase string) (out []PlannedTask) {
	for _, part := range []struct {
		name, why string
		vnfcs     []VNFC
	}{{"add", "the VIM makes the machine", c.Added}, {"remove", "the VIM removes the machine", c.Removed}, {"replace", "the VIM makes another machine in the place of this one", c.Replaced}} {
		for _, v := range part.vnfcs {
			out = append(out, PlannedTask{Phase: phase, Name: part.name, On: v.ID, Machine: v.Label(), Why: part.why})
		}
	}
	return out
}
