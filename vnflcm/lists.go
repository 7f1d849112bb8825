package vnflcm

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/vnfkit/vnfkit/vnflcm/store"
)

// InstanceQuery selects VNF instances. Every attribute that is set must match.
type InstanceQuery struct {
	VnfdID string
	States []InstantiationState
	// Match selects by all other attributes. See Limit. It must not list.
	Match func(*VnfInstance) bool
	// After is the Next of the page before; "" for the first page.
	After string
	// Limit is how many items a page has at most. 0: all. With a Limit, a page is the result of at most 1,000 instances, or 16 MiB
	// of them, that were looked at. With Match it can therefore have fewer items, even none, before the last page. At most
	// GOMAXPROCS/2 lists with a Limit, and at least one, are read at once. Further lists wait for up to 5 s (ErrBusy).
	Limit int
}

// OperationQuery selects operation occurrences, as InstanceQuery selects instances.
type OperationQuery struct {
	InstanceID string
	VnfdID     string
	States     []OperationState
	Operations []LcmOperation
	// StartedFrom and StartedBefore bound the StartTime.
	StartedFrom, StartedBefore time.Time
	Match                      func(*VnfLcmOpOcc) bool
	After                      string
	Limit                      int
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	// Next is the After of the query that continues the list; "" at its end.
	Next string
}

// maxLooked and maxRead bound the records that one page looks at, and the bytes of their bodies. pageSize is how many records are
// read at once, partSize how many if a page needs more than its first ones.
const (
	maxLooked = 1000
	maxRead   = 16 << 20
	pageSize  = 500
	partSize  = 100
)

// Instances returns VNF instances, in the order of their ids. Of records that cannot be read it returns the rest, and an
// ErrUnreadable that names them; see Forget. An After that no page had is a *ParamError. ErrBusy: many lists with a Limit are
// read.
func (m *Manager) Instances(ctx context.Context, q InstanceQuery) (Page[*VnfInstance], error) {
	states, possible := selected(q.States, NotInstantiated, Instantiated)
	if !possible {
		return Page[*VnfInstance]{}, nil
	}
	return listPage(ctx, m.records, store.Query{Kind: kindInstance, VNFD: q.VnfdID, States: states}, q.After, q.Limit,
		func(rec *instanceRecord, version int64) (*VnfInstance, bool) {
			view := rec.view(m.cfg.PublicParams...)
			view.Version = documentVersion(version, 0)
			return view, q.Match == nil || q.Match(view)
		})
}

// Operations returns operation occurrences, the oldest first; errors are as for Instances.
func (m *Manager) Operations(ctx context.Context, q OperationQuery) (Page[*VnfLcmOpOcc], error) {
	states, state := selected(q.States, Starting, Processing, Completed, FailedTemp, Failed, RollingBack, RolledBack)
	operations, operation := selected(q.Operations, OpInstantiate, OpScale, OpScaleToLevel, OpHeal, OpTerminate, OpModifyInfo, OpChangeExtConn, OpOperate, OpChangeVnfPkg, OpCreateSnapshot, OpRevertToSnapshot)
	if !state || !operation {
		return Page[*VnfLcmOpOcc]{}, nil
	}
	where := store.Query{Kind: kindOperation, Instance: q.InstanceID, VNFD: q.VnfdID, States: states, Operations: operations,
		From: instant(q.StartedFrom), Before: instant(q.StartedBefore)}
	return listPage(ctx, m.records, where, q.After, q.Limit, func(rec *operationRecord, version int64) (*VnfLcmOpOcc, bool) {
		occ := m.showOperation(ctx, rec, version)
		return occ, q.Match == nil || q.Match(occ)
	})
}

// selected returns the values of all that are asked for: of others there are no records, and a statement of a store would grow
// with them. Neither is a condition if all are asked for. possible is false if none of the values exists.
func selected[T ~string](asked []T, all ...T) (out []string, possible bool) {
	for _, v := range all {
		if slices.Contains(asked, v) {
			out = append(out, string(v))
		}
	}
	possible = len(asked) == 0 || len(out) > 0
	if len(out) == len(all) {
		out = nil
	}
	return out, possible
}

// pager makes a page of the records that a query selects.
type pager[R, T any] struct {
	records *records
	query   store.Query
	limit   int
	show    func(*R, int64) (T, bool) // returns the item for a record, and false if the page omits it
	page    Page[T]
	looked  int // number of records
	read    int // bytes of their bodies
	errs    []error
}

// listPage returns a page of the records that q selects.
func listPage[R, T any](ctx context.Context, r *records, q store.Query, after string, limit int, show func(*R, int64) (T, bool)) (Page[T], error) {
	q.Background = true
	p := &pager[R, T]{records: r, query: q, limit: limit, show: show}
	if r.ContinueAfter(&p.query, after) != nil {
		return p.page, &ParamError{Path: "after", Value: after, Reason: "is not the end of a page"}
	}
	for {
		more, err := p.part(ctx)
		if errors.Is(err, ErrBusy) && p.looked > 0 {
			more, err = false, p.stop()
		}
		if err != nil || !more {
			return p.page, errors.Join(append(p.errs, err)...)
		}
	}
}

// part reads some records and adds them to the page. more is false at the end of the page.
func (p *pager[R, T]) part(ctx context.Context) (more bool, err error) {
	if p.limit == 0 {
		_, more, err = p.next(ctx)
		return more, err
	}
	end, err := p.records.turns.take(ctx)
	if err != nil {
		return false, err
	}
	n, more, err := p.next(ctx)
	end(n >= partSize)
	return more, err
}

// next is part without its turn. It returns how many records it has read.
func (p *pager[R, T]) next(ctx context.Context) (n int, more bool, err error) {
	p.query.Limit = p.size()
	list, err := p.records.Store.List(ctx, p.query)
	if err != nil {
		return 0, false, err
	}
	for _, stored := range list {
		if p.limit > 0 && (len(p.page.Items) == p.limit || p.looked == maxLooked || p.read >= maxRead) {
			return len(list), false, p.stop()
		}
		p.add(stored)
	}
	return len(list), len(list) == p.query.Limit, nil
}

// size returns how many records the next part has: one more than the page lacks, to know whether the page is the last.
func (p *pager[R, T]) size() int {
	switch lacking := p.limit - len(p.page.Items) + 1; {
	case p.limit == 0:
		return pageSize
	case p.looked > 0:
		return min(pageSize, max(lacking, partSize))
	default:
		return min(pageSize, lacking)
	}
}

func (p *pager[R, T]) add(stored store.Record) {
	p.looked++
	p.read += len(stored.Body)
	p.query.AfterStart, p.query.AfterID = stored.Index.Start, stored.ID
	rec := new(R)
	if err := p.records.Open(stored, rec); err != nil {
		p.errs = append(p.errs, err)
	} else if item, ok := p.show(rec, stored.Version); ok {
		p.page.Items = append(p.page.Items, item)
	}
}

// stop ends the page before the end of the list.
func (p *pager[R, T]) stop() (err error) {
	p.page.Next, err = p.records.Position(p.query)
	return err
}

// turns bounds how many lists read at once in this process, since opening records takes CPU time that operations need. A list gives
// its turn back after each part, so that a long one does not keep short ones waiting. After a part of a long list the turn rests
// for as long as the part took: with little CPU time left, operations would else wait for lists.
type turns chan struct{}

func newTurns() turns { return make(turns, max(1, runtime.GOMAXPROCS(0)/2)) }

// turnPatience is how long a list waits for a turn.
const turnPatience = 5 * time.Second

// take waits for a turn, which end ends. ErrBusy: there was none for turnPatience.
func (t turns) take(ctx context.Context) (end func(rest bool), err error) {
	patience := time.NewTimer(turnPatience)
	defer patience.Stop()
	select {
	case t <- struct{}{}:
		began := time.Now()
		return func(rest bool) {
			if rest {
				time.AfterFunc(time.Since(began), t.release)
			} else {
				t.release()
			}
		}, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-patience.C:
		return nil, ErrBusy
	}
}

func (t turns) release() { <-t }

// instant is a time as records are searched by it.
func instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// documentVersion is the Version of a document: it changes with the record, and with a cancel that is pending.
func documentVersion(record, cancel int64) string {
	if cancel == 0 {
		return strconv.FormatInt(record, 10)
	}
	return fmt.Sprintf("%d.%d", record, cancel)
}

func (rec instanceRecord) Index() store.Index {
	return store.Index{State: string(rec.Instance.InstantiationState), VNFD: rec.Instance.VnfdID}
}

func (rec operationRecord) Index() store.Index {
	return store.Index{State: string(rec.Occ.OperationState), Operation: string(rec.Occ.Operation), Instance: rec.Occ.VnfInstanceID,
		VNFD: rec.VNF.VnfdID, Start: rec.Occ.StartTime.UnixNano()}
}
