package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vnfkit/vnfkit/internal/retry"
)

// Names of the phases of a CHANGE_VNFPKG beside its hooks; they are stored. Those of batches end in the number of the batch, and the ones
// of management drivers in the name of the driver.
const (
	packageBefore    = "change_package_before"
	packageInfra     = "change_package"
	packageAfter     = "change_package_after"
	packageScripts   = "change_package_coordinate"
	packageHealth    = "change_package_health"
	packagePause     = "change_package_pause"
	packageOperation = "change_package_operation"
	packageRollback  = "_rollback"
)

// batchPart is the part of a batch that a phase is for.
type batchPart int

const (
	noBatchPart batchPart = iota
	beforeBatch
	afterBatch
	batchScripts
	batchHealth
	batchPause
)

// packagePhases are the phases of a CHANGE_VNFPKG.
func (rec *operationRecord) packagePhases() []phase {
	list := []phase{{name: string(ChangePackageStart), hook: ChangePackageStart}}
	if rec.Package.To.Operation != "" {
		list = append(list, phase{name: packageOperation, hook: Hook(rec.Package.To.Operation), declared: true})
	}
	for i := range rec.Package.Batches {
		list = append(list, rec.batchPhases(i, "")...)
		if i+1 == rec.Package.PauseAfter {
			list = append(list, phase{name: phaseName(packagePause, i), batch: i + 1, part: batchPause})
		}
	}
	list = append(list, phase{name: packageInfra, infra: changePackage})
	return append(list, phase{name: string(ChangePackageEnd), hook: ChangePackageEnd})
}

// batchPhases are the phases of one batch. suffix ends the names while rolling back; it is empty otherwise.
func (rec *operationRecord) batchPhases(i int, suffix string) (list []phase) {
	add := func(name string, p phase) {
		p.name, p.batch = phaseName(name+suffix, i), i+1
		if p.maintainer != "" {
			p.name += ":" + p.maintainer
		}
		list = append(list, p)
	}
	for _, name := range rec.Drivers {
		add(packageBefore, phase{maintainer: name, part: beforeBatch})
	}
	add(packageInfra, phase{infra: changePackage})
	for _, name := range rec.Drivers {
		add(packageAfter, phase{maintainer: name, part: afterBatch})
	}
	if rec.Package.hasScripts() {
		add(packageScripts, phase{part: batchScripts})
	}
	add(packageHealth, phase{part: batchHealth})
	return list
}

// hasScripts reports whether the request names coordination scripts.
func (c *packageChange) hasScripts() bool {
	options, err := c.To.Request.options()
	return err == nil && (options.CoordinateNewVNF != "" || options.CoordinateOldVNF != "")
}

// undoPackagePhases are the phases that change the batches that have begun back, the last one first.
func (rec *operationRecord) undoPackagePhases() []phase {
	list := []phase{
		{name: string(ChangePackageRollbackStart), hook: ChangePackageRollbackStart, fallback: ChangePackageStart},
		{name: packageInfra + packageRollback, infra: changePackage},
	}
	for i := rec.begunBatches() - 1; i >= 0; i-- {
		list = append(list, rec.batchPhases(i, packageRollback)...)
	}
	return append(list, phase{name: string(ChangePackageRollbackEnd), hook: ChangePackageRollbackEnd, fallback: ChangePackageEnd})
}

// begunBatches counts the batches that have begun to change something.
func (rec *operationRecord) begunBatches() int {
	if rec.Package.Paused {
		return rec.Package.PauseAfter
	}
	begun := 0
	for _, p := range rec.packagePhases() {
		begun = max(begun, p.batch)
		if !slices.Contains(rec.Done, p.name) {
			break
		}
	}
	return begun
}

// redoBatches prepares the record for a retry after a failed rollback: the batches that the rollback has begun to change back are due
// again.
func (rec *operationRecord) redoBatches() {
	first := rec.begunBatches()
	for _, p := range rec.undoPackagePhases() {
		if p.batch > 0 {
			first = p.batch - 1
		}
		if !slices.Contains(rec.Done, p.name) {
			break
		}
	}
	var done []string
	for _, p := range rec.packagePhases() {
		if (p.batch <= first && p.name != packageInfra || p.part == batchPause) && slices.Contains(rec.Done, p.name) {
			done = append(done, p.name)
		}
	}
	for i := first; i < len(rec.Package.Batches); i++ {
		rec.Package.Changes[i] = changeOf(rec.Package.Batches[i].Units, rec.VNFCs)
	}
	rec.Done, rec.Package.Paused = done, false
}

// changePackage is the method of an optional interface; without it the request was refused.
func changePackage(d InfraDriver, ctx context.Context, op *Operation) error { //nolint:revive // in the form of the method expressions
	changer, able := d.(PackageChanger)
	if !able {
		return fmt.Errorf("%w: the driver cannot change packages", ErrNotSupported)
	}
	return changer.ChangePackage(ctx, op)
}

// enterBatch makes op what drivers see of one batch; number 0 is the phase for what belongs to no unit.
func (op *Operation) enterBatch(rec *operationRecord, number int) {
	if number == 0 {
		op.Change, op.planned = Change{}, Change{}
		return
	}
	batch, change := rec.Package.Batches[number-1], rec.Package.Changes[number-1]
	op.plannedBefore = Change{}
	for _, earlier := range rec.Package.Batches[:number-1] {
		planned := changeOf(earlier.Units, rec.VNFCs)
		op.plannedBefore.Added = append(op.plannedBefore.Added, planned.Added...)
		op.plannedBefore.Replaced = append(op.plannedBefore.Replaced, planned.Replaced...)
	}
	op.planned = changeOf(batch.Units, rec.VNFCs)
	if op.RollingBack {
		batch, change = batch.inverse(), rec.undoOfBatch(number-1)
	}
	op.Batch, op.Change = &batch, change
}

// asIn returns the change with the VNFCs of a list in place of those with the same ids.
func (c Change) asIn(list []VNFC) Change {
	known := byID(list)
	replace := func(vnfcs []VNFC) (out []VNFC) {
		for _, v := range vnfcs {
			if found, exists := known[v.ID]; exists {
				v = found
			}
			out = append(out, v)
		}
		return out
	}
	return Change{Added: replace(c.Added), Removed: replace(c.Removed), Replaced: replace(c.Replaced)}
}

// inverse returns the batch as it is rolled back.
func (b PackageBatch) inverse() PackageBatch {
	b.Units = inverseUnits(b.Units)
	return b
}

// adds reports whether a batch adds VNFCs of the VDU of v.
func (b PackageBatch) adds(v VNFC) bool {
	return slices.ContainsFunc(b.Units, func(u PackageUnit) bool {
		return u.Kind == UnitVNFC && u.Change == VnfcAdded && slices.Contains(u.VDUs, v.VDU)
	})
}

// announced is what the plan announces of the resources: VNFCs that a batch changes on the same machine keep their resources.
func (op *Operation) announced() Change {
	out := op.Change
	if op.Batch != nil {
		out.Replaced = slices.DeleteFunc(slices.Clone(out.Replaced), func(v VNFC) bool {
			return !slices.ContainsFunc(op.Batch.Units, func(u PackageUnit) bool { return u.ID == v.ID && u.Method == MethodReplace })
		})
	}
	return out
}

// hasRelease reports whether a unit of the batch that is no single VNFC has VNFCs of a VDU: the numbers and ids of its pods are those of
// controllers.
func (b *PackageBatch) hasRelease(vdu string) bool {
	return b != nil && slices.ContainsFunc(b.Units, func(u PackageUnit) bool { return u.Kind != UnitVNFC && slices.Contains(u.VDUs, vdu) })
}

func inverseUnits(units []PackageUnit) []PackageUnit {
	out := slices.Clone(units)
	for i := range out {
		switch out[i].Change {
		case VnfcAdded:
			out[i].Change = VnfcRemoved
		case VnfcRemoved:
			out[i].Change = VnfcAdded
		case VnfcModified:
		}
		out[i].Details = inverseDetails(out[i].Details)
	}
	return out
}

func inverseDetails(details []UnitDetail) []UnitDetail {
	out := slices.Clone(details)
	for i, d := range out {
		out[i].From, out[i].To = d.To, d.From
		switch d.Change {
		case VnfcAdded:
			out[i].Change = VnfcRemoved
		case VnfcRemoved:
			out[i].Change = VnfcAdded
		case VnfcModified:
		}
	}
	return out
}

// undoOfBatch is what rolling a batch back does: the VNFCs that it has added and that exist are removed. VNFCs that no batch has recorded
// belong to the last one, which has failed.
func (rec *operationRecord) undoOfBatch(index int) (undo Change) {
	for _, v := range rec.Undo.Removed {
		if !rec.Package.Batches[index].adds(v) {
			continue // of a release: its pods change their ids
		}
		made := slices.IndexFunc(rec.Package.Changes, func(c Change) bool {
			return slices.ContainsFunc(c.Added, func(added VNFC) bool { return added.ID == v.ID })
		})
		if made < 0 {
			made = rec.begunBatches() - 1
		}
		if made == index {
			undo.Removed = append(undo.Removed, v)
		}
	}
	planned := changeOf(rec.Package.Batches[index].Units, rec.VNFCs)
	undo.Added, undo.Replaced = planned.Removed, planned.Replaced
	return undo
}

// batchDriverNames are the names of the management drivers that one of the two packages names for a hook.
func (s *session) batchDriverNames() []string {
	names := s.driverNames()
	if s.op.Former != nil {
		names = append(names, hookDrivers(s.op.Former.Flavour)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// batchers are those of them that are a PackageBatcher.
func (s *session) batchers() []string {
	return slices.DeleteFunc(s.batchDriverNames(), func(name string) bool {
		_, able := s.m.cfg.Mgmt[name].(PackageBatcher)
		return !able
	})
}

// doingBatch returns the function of a phase of a batch; nil if it has nothing to do.
func (s *session) doingBatch(p phase) func(context.Context) error {
	switch p.part {
	case batchScripts:
		return s.coordinate
	case batchHealth:
		return s.awaitHealth
	case beforeBatch, afterBatch:
		driver, able := s.m.cfg.Mgmt[p.maintainer].(PackageBatcher)
		if !able {
			return nil
		}
		s.op.driver = p.maintainer
		if p.part == beforeBatch {
			return func(ctx context.Context) error { return driver.BeforeBatch(ctx, s.op) }
		}
		return func(ctx context.Context) error { return driver.AfterBatch(ctx, s.op) }
	case noBatchPart, batchPause:
	}
	return nil
}

// awaitHealth returns nil once every driver finds the VNF healthy.
func (s *session) awaitHealth(ctx context.Context) error {
	options, err := s.op.ChangeVnfPkg.options()
	if err != nil {
		return err
	}
	checkers := s.healthCheckers()
	if len(checkers) == 0 {
		return nil
	}
	within := options.healthTimeout()
	var stopped error // by a cancel: the wait is no step, so that a graceful one does not wait for its end
	wait := retry.Policy{First: time.Second, Most: 10 * time.Second, Within: within, For: "the health of the VNF", Class: retry.NotReady,
		If: func(err error) bool { return stopped == nil && !errors.Is(err, ErrProgramming) }}
	err = wait.Do(ctx, func() error {
		if stopped = s.op.steps.mayBegin(ctx); stopped != nil {
			return stopped
		}
		var unhealthy []error
		for _, c := range checkers {
			unhealthy = append(unhealthy, recovered(func() error { return c.CheckHealth(ctx, s.op) }))
		}
		return errors.Join(unhealthy...)
	})
	if err == nil || stopped != nil || context.Cause(ctx) != nil {
		return err
	}
	err = fmt.Errorf("%s: batch %d of %d is not healthy after %s: %w", s.op.phase, s.op.Batch.Number, s.op.Batch.Of, within, err)
	if s.op.RollingBack { // the VNF was so before, or only the other batches can help
		s.op.Warn(ctx, err.Error())
		return nil
	}
	return err
}

// healthCheckers are the drivers of both kinds that check the health of the VNF.
func (s *session) healthCheckers() (out []HealthChecker) {
	if c, able := s.infra.(HealthChecker); able {
		out = append(out, c)
	}
	for _, name := range s.batchDriverNames() {
		if c, able := s.m.cfg.Mgmt[name].(HealthChecker); able {
			out = append(out, c)
		}
	}
	return out
}

// errPaused ends the phase in which an operation pauses.
func errPaused(batch int) error {
	return fmt.Errorf("%w: after batch %d, as additionalParams.pause_after asks. Retry continues, Rollback changes the VNF back", ErrPaused, batch)
}
