package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/internal/bounded"
	"github.com/vnfkit/vnfkit/vnflcm/store"
)

const (
	// inspectLimit is how long one driver may take for one instance or VIM. A machine that is dead takes 30 s.
	inspectLimit = time.Minute
	// mostInspections is how many instances or VIMs are inspected at once.
	mostInspections = 8
)

var errInspectOverdue = fmt.Errorf("no answer within %v", inspectLimit)

// Diagnose compares the record of a VNF instance with what exists: its machines, networks and volumes, what drivers find beyond (Inspector),
// and its entries in the registry of VIMs. It changes nothing. A peer that does not answer within a minute, and a package or VIM that cannot be
// found, is a finding and no error. Management drivers are not asked about a VNF that is stopped. An operation may work on the instance at the
// same time: then there is a finding of the kind Busy. ErrNotFound: the instance does not exist.
func (m *Manager) Diagnose(ctx context.Context, instanceID string) ([]Finding, error) {
	inst, _, err := m.instance(ctx, instanceID)
	if err != nil {
		return nil, err
	}
	out := append(m.lockFindings(ctx, inst), m.entryFindings(ctx, inst)...)
	if inst.Instance.InstantiationState == Instantiated {
		out = append(out, m.inspect(ctx, inst)...)
	}
	for i := range out {
		out[i].InstanceID = instanceID
		out[i].Detail = bounded.Text(out[i].Detail, maxText)
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return sortFindings(out), nil
}

// lockFindings names the operation that has the instance locked.
func (m *Manager) lockFindings(ctx context.Context, inst *instanceRecord) []Finding {
	if inst.Holder == "" {
		return nil
	}
	locked := Finding{Kind: Busy, Resource: "operation", ID: inst.Holder}
	if rec, _, err := m.operation(ctx, inst.Holder); err != nil {
		locked.Kind, locked.Detail = Unknown, err.Error()
	} else {
		locked.Name, locked.Detail = string(rec.Occ.Operation), string(rec.Occ.OperationState)
	}
	return []Finding{locked}
}

// entryFindings compares the entries that operations of the instance have registered with the registry of VIMs.
func (m *Manager) entryFindings(ctx context.Context, inst *instanceRecord) (out []Finding) {
	for _, vimID := range inst.RegisteredVIMs {
		entry := Finding{Resource: "vim", ID: vimID, VimID: vimID}
		switch known, err := m.vims.Get(ctx, inst.Tenant, vimID); {
		case errors.Is(err, ErrNotFound):
			entry.Kind, entry.Detail = Missing, "the registry of VIMs has no entry: heal the cluster, which registers it again"
		case err != nil:
			entry.Kind, entry.Detail = Unknown, err.Error()
		case known.Tenant != inst.Tenant:
			entry.Kind, entry.Detail = Differs, "the entry has another owner"
		default:
			continue
		}
		out = append(out, entry)
	}
	return out
}

// inspect asks the drivers of an instance.
func (m *Manager) inspect(ctx context.Context, inst *instanceRecord) []Finding {
	opened, err := m.openPackages(ctx, inst, nil)
	if err != nil {
		return []Finding{{Kind: Unknown, Resource: "package", ID: inst.Instance.VnfPkgID, Name: inst.Instance.VnfdID, Detail: err.Error()}}
	}
	defer opened.close()
	s, err := m.outside(ctx, opened, inst, "diagnose")
	if err != nil {
		return []Finding{{Kind: Unknown, Resource: "vim", ID: inst.vimID(), VimID: inst.vimID(), Detail: err.Error()}}
	}
	if s.op.VIMGone {
		return []Finding{{Kind: Missing, Resource: "vim", ID: s.op.VIM.VimID, Detail: errVIMGone.Error()}}
	}
	inspections := []inspection{{"resources", s.compareResources}}
	if driver, able := s.infra.(Inspector); able {
		inspections[0].look = driver.Inspect
	}
	for _, name := range s.driverNames() {
		if inst.Stopped {
			break // management drivers ask machines, which are off
		}
		if driver, able := m.cfg.Mgmt[name].(Inspector); able {
			inspections = append(inspections, inspection{name, driver.Inspect})
		}
	}
	var mu sync.Mutex
	var out []Finding
	_ = Each(ctx, 0, inspections, func(ctx context.Context, i inspection) error {
		found := s.run(ctx, i)
		mu.Lock()
		defer mu.Unlock()
		out = append(out, found...)
		return nil
	})
	return out
}

// inspection is a question to a driver, or to the program behind it.
type inspection struct {
	of   string
	look func(context.Context, *Operation) ([]Finding, error)
}

// run asks one driver within inspectLimit. Its error is a finding.
func (s *session) run(ctx context.Context, i inspection) (found []Finding) {
	limited, done := context.WithTimeoutCause(ctx, inspectLimit, errInspectOverdue)
	defer done()
	err := s.call(limited, func() (err error) { found, err = i.look(limited, s.op); return err })
	if err != nil {
		found = append(found, Finding{Kind: Unknown, Resource: i.of, Detail: causeOf(limited, err).Error()})
	}
	for n := range found {
		found[n].VimID, found[n].Detail = s.op.VIM.VimID, s.op.Mask(found[n].Detail)
	}
	return found
}

func (s *session) compareResources(ctx context.Context, op *Operation) ([]Finding, error) {
	now, err := s.infra.Resources(ctx, op)
	if err != nil {
		return nil, err
	}
	return op.Differences(now), nil
}

// DiagnoseAll is Diagnose for all VNF instances, and finds what no record has: resources with the mark of a driver (MarkReader) on the VIMs
// that the registry or an instance names, and entries of clusters whose VNF does not exist. Resources with the mark may belong to another
// VNFM that uses the same VIM. Records that cannot be read are findings of the kind Unknown.
func (m *Manager) DiagnoseAll(ctx context.Context) ([]Finding, error) {
	var mu sync.Mutex
	var out []Finding
	add := func(found ...Finding) {
		mu.Lock()
		defer mu.Unlock()
		out = append(out, found...)
	}
	known, err := m.survey(ctx)
	if err != nil {
		return nil, err
	}
	add(known.faults...)
	err = Each(ctx, mostInspections, sortedKeys(known.instances), func(ctx context.Context, id string) error {
		found, err := m.Diagnose(ctx, id)
		if errors.Is(err, ErrNotFound) { // removed since
			err = nil
		}
		add(found...)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = Each(ctx, mostInspections, known.vims, func(ctx context.Context, vim VimConnectionInfo) error {
		found, err := m.strays(ctx, vim, known)
		add(found...)
		return err
	})
	entries, errEntries := m.strayEntries(ctx, known)
	add(entries...)
	return slices.CompactFunc(sortFindings(out), sameStray), errors.Join(err, errEntries)
}

// sameStray reports whether two findings are of one resource without a record: one VIM may have several entries.
func sameStray(a, b Finding) bool {
	return a.Kind == b.Kind && (a.Kind == Stray || a.Kind == Kept) && a.InstanceID == b.InstanceID && a.Resource == b.Resource && a.ID == b.ID
}

// survey is what the records name.
type survey struct {
	instances map[string]bool // whether the instance has or may have resources
	vims      []VimConnectionInfo
	faults    []Finding
}

// survey reads which instances and VIMs there are.
func (m *Manager) survey(ctx context.Context) (*survey, error) {
	out := &survey{instances: map[string]bool{}}
	list, err := m.vims.List(ctx)
	if err != nil && !errors.Is(err, ErrUnreadable) {
		return nil, err
	} else if err != nil {
		out.faults = append(out.faults, Finding{Kind: Unknown, Resource: "vim", Detail: err.Error()})
	}
	out.vims = list
	return out, m.records.EachPage(ctx, store.Query{Kind: kindInstance}, func(page []store.Record) error {
		for _, stored := range page {
			inst := new(instanceRecord)
			if err := m.records.Open(stored, inst); err != nil {
				out.faults = append(out.faults, Finding{Kind: Unknown, InstanceID: stored.ID, Resource: "instance", ID: stored.ID, Detail: err.Error()})
				continue
			}
			out.instances[stored.ID] = inst.Instance.InstantiationState == Instantiated || inst.Holder != ""
			if inst.VIMForm == vimComplete && len(inst.Initial.VimConnectionInfo) > 0 {
				vim := inst.Initial.VimConnectionInfo[0]
				vim.FromOperator, vim.Tenant = false, inst.Tenant
				out.vims = append(out.vims, vim)
			}
		}
		return nil
	})
}

// strays returns what has the mark of a driver on a VIM and belongs to no instance with resources.
func (m *Manager) strays(ctx context.Context, vim VimConnectionInfo, known *survey) (out []Finding, err error) {
	driver, able := m.cfg.infra(vim.VimType).(MarkReader)
	if !able {
		return nil, nil
	}
	limited, done := context.WithTimeoutCause(ctx, inspectLimit, errInspectOverdue)
	defer done()
	var marks []Mark
	err = logPanic(ctx, m.cfg.Logger, recovered(func() (err error) { marks, err = driver.Marked(limited, vim); return err }))
	if err != nil {
		text := newMasker(vim.secrets()).applyTo(causeOf(limited, err))
		out = append(out, Finding{Kind: Unknown, VimID: vim.VimID, Resource: "vim", ID: vim.VimID, Detail: bounded.Text(text, maxText)})
	}
	owners := map[string]owner{} // one instance may have many marks
	for _, mark := range marks {
		if known.instances[mark.InstanceID] {
			continue // Diagnose compares it with the record
		}
		o, read := owners[mark.InstanceID]
		if !read {
			if o, err = m.owner(ctx, mark.InstanceID); err != nil {
				return out, err
			}
			owners[mark.InstanceID] = o
		}
		if o.ownsNothing == "" {
			continue
		}
		found := Finding{Kind: Stray, InstanceID: mark.InstanceID, VimID: vim.VimID, Resource: mark.Resource, ID: mark.ID, Name: mark.Name, Detail: o.ownsNothing}
		if mark.Kept && !o.givenUp {
			found.Kind, found.Detail = Kept, found.Detail+"; terminating leaves it, with its data"
		}
		out = append(out, found)
	}
	return out, nil
}

// owner is the VNF instance that a mark or an entry names.
type owner struct {
	ownsNothing string // why it owns nothing; "": it may have resources now
	givenUp     bool
}

// owner reads what is known of an instance.
func (m *Manager) owner(ctx context.Context, instanceID string) (owner, error) {
	inst, _, err := m.instance(ctx, instanceID)
	var left abandonedRecord
	switch {
	case err == nil && inst.Instance.InstantiationState != Instantiated && inst.Holder == "":
		return owner{ownsNothing: "the VNF instance is not instantiated"}, nil
	case err == nil, errors.Is(err, ErrUnreadable):
		return owner{}, nil
	case !errors.Is(err, ErrNotFound):
		return owner{}, err
	}
	if _, err := m.records.Get(ctx, kindAbandoned, instanceID, &left); err == nil {
		return owner{"the VNF instance was given up at " + left.Time.UTC().Format(time.RFC3339), true}, nil
	}
	return owner{ownsNothing: "this VNFM has no such VNF instance"}, nil
}

// strayEntries returns the entries of clusters whose VNF does not exist. With a registry of the caller there are none.
func (m *Manager) strayEntries(ctx context.Context, known *survey) (out []Finding, err error) {
	list, err := m.VIMRegistry().List(ctx, "")
	if errors.Is(err, ErrNotSupported) || errors.Is(err, ErrUnreadable) { // survey has reported it
		err = nil
	}
	for _, vim := range list {
		if vim.Cluster == "" || known.instances[vim.Cluster] {
			continue
		}
		o, err := m.owner(ctx, vim.Cluster)
		if err != nil {
			return out, err
		}
		if o.ownsNothing != "" {
			out = append(out, Finding{Kind: Stray, InstanceID: vim.Cluster, VimID: vim.VimID, Resource: "vim", ID: vim.VimID, Name: vim.Name, Detail: o.ownsNothing})
		}
	}
	return out, err
}
