package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// overview has a row for each VNF instance in memory: a list can then be sorted, filtered and counted without reading every record
// and every operation each time. It follows the feed of changes, whichever process makes them.
type overview struct {
	mu     sync.Mutex
	place  vnflcm.Cursor // in the feed, behind the changes that the rows have
	read   time.Time     // when all records were read; zero: never, or the rows may lack a change
	rows   map[string]row
	faults error // records that cannot be read
}

// row is an instance in the list.
type row struct {
	ID, Name, Product, Version, Tenant string

	Instantiation vnflcm.InstantiationState
	Machines      int
	Last          *lastOperation // nil: no operation has begun
}

// lastOperation is the operation of an instance that began last.
type lastOperation struct {
	ID         string
	InstanceID string
	Kind       vnflcm.LcmOperation
	State      vnflcm.OperationState
	Start      time.Time
	Error      string // the beginning of the text
	Added      int    // machines, so far
}

const (
	// rereadAfter is for how long the feed is enough. PurgeOperations may remove changes from the feed before they are read here.
	rereadAfter = 10 * time.Minute
	feedPart    = 500
)

// The states of a row. Of an instance with a failed or running operation the operation counts.
const (
	stateFailed          = "failed"
	stateRunning         = "running"
	stateInstantiated    = "instantiated"
	stateNotInstantiated = "not instantiated"
)

// rowStates are the states of rows, those that need attention first.
var rowStates = []string{stateFailed, stateRunning, stateInstantiated, stateNotInstantiated}

// State is one of rowStates.
func (r row) State() string {
	if r.Last != nil {
		switch r.Last.State {
		case vnflcm.FailedTemp, vnflcm.Failed:
			return stateFailed
		case vnflcm.Starting, vnflcm.Processing, vnflcm.RollingBack:
			return stateRunning
		}
	}
	if r.Instantiation == vnflcm.Instantiated {
		return stateInstantiated
	}
	return stateNotInstantiated
}

// MachineCount is how many machines there are. An instance has them only when it is instantiated.
func (r row) MachineCount() int {
	if r.Instantiation != vnflcm.Instantiated && r.Last != nil && !r.Last.State.Final() {
		return r.Last.Added
	}
	return r.Machines
}

// list returns the rows that a tenant may see, in no order. faults names records that cannot be read, of all tenants.
func (o *overview) list(ctx context.Context, m *vnflcm.Manager, tenant string) (list []row, faults, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.update(ctx, m); err != nil {
		o.read = time.Time{}
		return nil, nil, err
	}
	for _, r := range o.rows {
		if sees(tenant, r.Tenant) {
			list = append(list, r)
		}
	}
	return list, o.faults, nil
}

func (o *overview) update(ctx context.Context, m *vnflcm.Manager) error {
	if time.Since(o.read) > rereadAfter {
		if err := o.readAll(ctx, m); err != nil {
			return err
		}
	}
	return o.follow(ctx, m)
}

// readAll reads every instance and every operation.
func (o *overview) readAll(ctx context.Context, m *vnflcm.Manager) (err error) {
	if o.place, err = m.LatestChange(ctx); err != nil { // changes from here on may be missing in what is read now
		return err
	}
	began := time.Now()
	o.rows, o.faults = map[string]row{}, nil
	err = o.readParts(func(after string) (next string, err error) {
		page, err := m.Instances(ctx, vnflcm.InstanceQuery{After: after, Limit: feedPart})
		for _, i := range page.Items {
			o.rows[i.ID] = rowOf(i)
		}
		return page.Next, err
	})
	if err != nil {
		return err
	}
	err = o.readParts(func(after string) (next string, err error) {
		page, err := m.Operations(ctx, vnflcm.OperationQuery{After: after, Limit: feedPart})
		for _, operation := range page.Items {
			o.add(lastOf(operation))
		}
		return page.Next, err
	})
	if err == nil {
		o.read = began
	}
	return err
}

// readParts calls read for each page of a list, and adds unreadable records to the faults.
func (o *overview) readParts(read func(after string) (next string, err error)) error {
	for after := ""; ; {
		next, err := read(after)
		if errors.Is(err, vnflcm.ErrUnreadable) {
			o.faults = errors.Join(o.faults, err)
		} else if err != nil {
			return err
		}
		if after = next; after == "" {
			return nil
		}
	}
}

// follow brings the rows to the end of the feed.
func (o *overview) follow(ctx context.Context, m *vnflcm.Manager) error {
	changed := map[string]bool{}
	var operations []*lastOperation
	for {
		list, next, err := m.Changes(ctx, o.place, feedPart)
		if err != nil && !errors.Is(err, vnflcm.ErrUnreadable) {
			return err
		}
		if next == o.place {
			break
		}
		o.place = next
		for _, entry := range list {
			if id := entry.VNF.InstanceID; id != "" {
				changed[id] = true
			}
			if entry.Operation != nil {
				operations = append(operations, lastOf(entry.Operation))
			}
		}
	}
	for id := range changed {
		if err := o.reread(ctx, m, id); err != nil {
			return err
		}
	}
	for _, operation := range operations {
		o.add(operation)
	}
	return nil
}

// reread brings the row of an instance up to date.
func (o *overview) reread(ctx context.Context, m *vnflcm.Manager, id string) error {
	instance, err := m.Get(ctx, id)
	switch {
	case errors.Is(err, vnflcm.ErrNotFound):
		delete(o.rows, id)
		return nil
	case errors.Is(err, vnflcm.ErrUnreadable):
		o.faults = errors.Join(o.faults, err)
		return nil
	case err != nil:
		return err
	}
	now := rowOf(instance)
	now.Last = o.rows[id].Last
	o.rows[id] = now
	return nil
}

// add notes an operation if its instance exists and has no later one.
func (o *overview) add(last *lastOperation) {
	r, exists := o.rows[last.InstanceID]
	if !exists || r.Last != nil && last.Start.Before(r.Last.Start) {
		return
	}
	r.Last = last
	o.rows[last.InstanceID] = r
}

func lastOf(operation *vnflcm.VnfLcmOpOcc) *lastOperation {
	last := &lastOperation{ID: operation.ID, InstanceID: operation.VnfInstanceID, Kind: operation.Operation, State: operation.OperationState, Start: operation.StartTime}
	if changes := operation.ResourceChanges; changes != nil {
		for _, v := range changes.AffectedVnfcs {
			if v.ChangeType == vnflcm.VnfcAdded {
				last.Added++
			}
		}
	}
	if operation.Error != nil {
		last.Error = firstOf(operation.Error.Detail, 200)
	}
	return last
}

func rowOf(i *vnflcm.VnfInstance) row {
	r := row{ID: i.ID, Name: i.VnfInstanceName, Product: i.VnfProductName, Version: i.VnfSoftwareVersion, Tenant: i.Tenant, Instantiation: i.InstantiationState}
	if i.InstantiatedVnfInfo != nil {
		r.Machines = len(i.InstantiatedVnfInfo.VnfcResourceInfo)
	}
	return r
}

// firstOf returns the beginning of a text, at most so many characters.
func firstOf(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
