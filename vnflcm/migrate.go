package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/internal/ledger"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// newestFormat is the newest format of a store that this version can write. It reads that format and the one before. docs/store.md says
// what each format has. Until Migrate has raised the format of a store, processes of the version before can work on the store too, so
// this version writes only what both versions read.
const newestFormat = 2

// Migration says what Migrate changes, or has changed.
type Migration struct {
	// From and To are numbers of formats. They are equal if there is nothing to migrate, or if a migration is to be continued.
	From, To int
	// Records are the numbers of records that change, by kind.
	Records map[string]int
	// Earlier are the processes and leases of earlier versions of vnfkit, in order. Migrate waits until they have ended.
	Earlier []string
}

// PlanMigration returns what Migrate would change now. It writes nothing.
func (m *Manager) PlanMigration(ctx context.Context) (Migration, error) {
	g, stored, err := m.migrator(ctx, true)
	if err != nil || !g.isDue(stored) {
		return g.done, err
	}
	earlier, err := m.earlierProcesses(ctx)
	for _, p := range earlier {
		g.done.Earlier = append(g.done.Earlier, p.Kind+" "+p.ID)
	}
	return g.done, errors.Join(err, g.convertAll(ctx))
}

// Migrate brings the store to the newest format that this version of vnfkit can write; docs/store.md has the formats. Call it when all
// processes have this version: processes of an earlier version can do nothing more afterwards. Migrate may run beside operations and
// other processes, has one record in memory at a time, and can be repeated, also after it was killed.
//
// A process of an earlier version that lives is ErrState, which names it. Migrate waits for at most the LeaseTTL of a process that
// shows no sign of life. Records that cannot be read stay as they are, and are named by the error (ErrUnreadable): restore or Forget
// them, and call Migrate again. Until it has returned no error, later versions of vnfkit may refuse the store.
func (m *Manager) Migrate(ctx context.Context) (Migration, error) {
	g, stored, err := m.migrator(ctx, false)
	if err != nil || !g.isDue(stored) {
		return g.done, err
	}
	if err := m.awaitEarlier(ctx); err != nil {
		return g.done, err
	}
	if err := g.setFormat(ctx, ledger.Format{Number: g.done.To, Migrating: true}); err != nil {
		return g.done, err
	}
	if err := g.convertAll(ctx); err != nil {
		return g.done, err
	}
	return g.done, g.setFormat(ctx, ledger.Format{Number: g.done.To})
}

// migrator converts the records of a store to the newest format.
type migrator struct {
	records *records
	run     string                  // of this process
	plan    bool                    // nothing is written
	owners  map[string]store.Record // kind and id of the record of the VNF instance that has become a VIM, by VIM
	done    Migration
}

func (m *Manager) migrator(ctx context.Context, plan bool) (*migrator, ledger.Format, error) {
	g := &migrator{records: m.records, run: m.process.Run(), plan: plan}
	now, _, err := m.records.ReadFormat(ctx)
	g.done = Migration{From: now.Number, To: m.records.Newest(), Records: map[string]int{}}
	return g, now, err
}

// isDue reports whether records may have an earlier format.
func (g *migrator) isDue(stored ledger.Format) bool {
	return stored.Number < g.done.To || stored.Migrating
}

// setFormat writes the format of the store, unless a newer version has migrated the store meanwhile.
func (g *migrator) setFormat(ctx context.Context, to ledger.Format) error {
	return g.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		now, version, err := g.records.ReadFormat(ctx)
		if err != nil || now == to {
			return err
		}
		return g.records.PutFormat(b, version, to)
	})
}

// earlierProcesses returns the records of processes and leases of earlier versions. They may be gone.
func (m *Manager) earlierProcesses(ctx context.Context) (out []store.Record, err error) {
	for _, kind := range []string{ledger.KindProcess, ledger.KindLease} {
		list, err := m.cfg.Store.List(ctx, store.Query{Kind: kind})
		if err != nil {
			return nil, err
		}
		out = append(out, slices.DeleteFunc(list, func(p store.Record) bool {
			var said ledger.LeaseRecord
			return m.records.Open(p, &said) == nil && said.Format >= m.records.Newest() || kind == ledger.KindProcess && p.ID == m.process.ID()
		})...)
	}
	return out, nil
}

// awaitEarlier returns nil when all processes of earlier versions are gone, by the clock of this process, and ErrState when one of them
// lives.
func (m *Manager) awaitEarlier(ctx context.Context) error {
	for seen := (ledger.Sightings{}); ; {
		earlier, err := m.earlierProcesses(ctx)
		if err != nil {
			return err
		}
		var left, alive []string
		for _, p := range earlier {
			name := p.Kind + " " + p.ID
			if seen.HasChanged(p) {
				alive = append(alive, name)
			}
			if !seen.StoodStill(p, m.records.TTLOf(p, m.cfg.LeaseTTL)) {
				left = append(left, name)
			}
		}
		switch {
		case len(alive) > 0:
			return fmt.Errorf("%w: processes of an earlier version of vnfkit work on the store: %s. End them, or replace them by this version", ErrState, strings.Join(alive, ", "))
		case len(left) == 0:
			return nil
		}
		if cause := retry.Pause(ctx, ledger.LookEvery(m.cfg.LeaseTTL)); cause != nil {
			return fmt.Errorf("waiting for the end of processes of an earlier version of vnfkit (%s): %w", strings.Join(left, ", "), cause)
		}
	}
}

// conversion adds to b what brings a record of one kind from the format before to the newest one; nothing if the record has that.
// Processes of this version may change the record at the same time: b fails then, and is built again.
type conversion struct {
	kind    string
	convert func(g *migrator, ctx context.Context, stored store.Record, b *store.Batch) error
}

// conversions lead from format 1 to format 2. Records of all other kinds are the same in both.
var conversions = []conversion{
	{ledger.KindClaim, (*migrator).nameRun},
	{kindSuspect, (*migrator).dropEndedSuspect},
	{kindVIM, (*migrator).nameInstance},
}

// convertAll converts all records. It continues after records that cannot be read, and joins their errors.
func (g *migrator) convertAll(ctx context.Context) error {
	errs := []error{g.findOwners(ctx)}
	for _, c := range conversions {
		err := g.each(ctx, c.kind, func(stored store.Record) error { return g.convert(ctx, c, stored.ID) })
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// each calls do with each record of a kind. It continues after records that cannot be read, and joins their errors.
func (g *migrator) each(ctx context.Context, kind string, do func(store.Record) error) error {
	var unreadable []error
	// One at a time: a record may have any size, and several can be more than fits into memory.
	err := g.records.EachPage(ctx, store.Query{Kind: kind, Limit: 1}, func(one []store.Record) error {
		err := do(one[0])
		if errors.Is(err, ErrUnreadable) {
			unreadable = append(unreadable, err)
			return nil
		}
		return err
	})
	return errors.Join(append(unreadable, err)...)
}

func (g *migrator) convert(ctx context.Context, c conversion, id string) error {
	changed := false
	err := g.records.Update(ctx, func(ctx context.Context, b *store.Batch) error {
		stored, err := g.records.Store.Get(ctx, c.kind, id)
		if err != nil {
			return ignoreNotFound(err)
		}
		err = c.convert(g, ctx, stored, b)
		changed = len(b.Put)+len(b.Delete) > 0
		if g.plan {
			*b = store.Batch{}
		}
		return err
	})
	if err == nil && changed {
		g.done.Records[c.kind]++
	}
	return err
}

// nameRun converts a claim without the run of the process that wrote it. That process is gone: the claim is freed, and with its version
// the epoch of the operation grows. The process knew no suspects either, so what they say does not count.
func (g *migrator) nameRun(ctx context.Context, stored store.Record, b *store.Batch) error {
	var c ledger.ClaimRecord
	if err := g.records.Open(stored, &c); err != nil || c.Run != "" {
		return err
	}
	if c.State == ledger.Held {
		c.State, c.Process = ledger.Free, ""
	}
	c.Run, c.Suspected = g.run, false
	record, err := g.records.Seal(ledger.KindClaim, stored.ID, stored.Version, c)
	b.Put, b.Wake = append(b.Put, record), true
	return errors.Join(err, g.records.Drop(ctx, b, kindSuspect, stored.ID))
}

// dropEndedSuspect removes the suspect of an operation that an earlier version has ended, or purged.
func (g *migrator) dropEndedSuspect(ctx context.Context, stored store.Record, b *store.Batch) error {
	var op operationRecord
	_, err := g.records.Get(ctx, kindOperation, stored.ID, &op)
	if errors.Is(err, ErrNotFound) || err == nil && op.Occ.OperationState.Final() {
		b.Delete = append(b.Delete, stored)
		return nil
	}
	return err
}

// nameInstance converts an entry of the registry of VIMs that an operation has registered: it says of which VNF instance. An operator who
// has replaced such an entry since has to do so again.
func (g *migrator) nameInstance(ctx context.Context, stored store.Record, b *store.Batch) error {
	var vim vimRecord
	owner, registered := g.owners[stored.ID]
	if err := g.records.Open(stored, &vim); err != nil || !registered || vim.Instance != "" {
		return err
	}
	owner, err := g.records.Store.Get(ctx, owner.Kind, owner.ID)
	if err != nil {
		return ignoreNotFound(err)
	}
	instance, vims, err := g.records.vimsOf(owner)
	if err != nil || !slices.Contains(vims, stored.ID) { // removed meanwhile
		return err
	}
	vim.Instance = instance
	record, err := g.records.Seal(kindVIM, stored.ID, stored.Version, vim)
	b.Put, b.Assert = append(b.Put, record), append(b.Assert, owner)
	return err
}

// findOwners finds the VNF instances that have become VIMs, also those that were given up or that another program manages.
func (g *migrator) findOwners(ctx context.Context) error {
	g.owners = map[string]store.Record{}
	var errs []error
	for _, kind := range []string{kindHook, kindAbandoned, kindInstance} {
		errs = append(errs, g.each(ctx, kind, func(stored store.Record) error {
			_, vims, err := g.records.vimsOf(stored)
			for _, vimID := range vims {
				g.owners[vimID] = store.Record{Kind: kind, ID: stored.ID}
			}
			return err
		}))
	}
	return errors.Join(errs...)
}

// vimsOf reads which VNF instance a record is of, and which VIMs the instance has become.
func (r *records) vimsOf(stored store.Record) (instance string, vims []string, err error) {
	if stored.Kind == kindAbandoned {
		var left AbandonedInstance
		err := r.Open(stored, &left)
		return left.VNF.InstanceID, left.RegisteredVIMs, err
	}
	var inst instanceRecord
	err = r.Open(stored, &inst)
	return inst.Instance.ID, inst.RegisteredVIMs, err
}
