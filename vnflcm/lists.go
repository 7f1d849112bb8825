package vnflcm

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// InstanceQuery selects VNF instances. Every attribute that is set must match.
type InstanceQuery struct {
	VnfdID string
	States []InstantiationState
	// Match selects by all other attributes. See Limit.
	Match func(*VnfInstance) bool
	// After is the Next of the page before; "" for the first page.
	After string
	// Limit is how many items a page has at most. 0: all. With a Limit and Match, a page is the result of at most 1,000
	// instances that were looked at, so it can have fewer items, even none, before the last page.
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

// maxScanned is how many records one page looks at if not all of them match, pageSize how many are read at once.
const (
	maxScanned = 1000
	pageSize   = 500
)

// Instances returns VNF instances, in the order of their ids. Of records that cannot be read it returns the rest, and an
// ErrUnreadable that names them; see Forget. An After that no page had is a *ParamError.
func (m *Manager) Instances(ctx context.Context, q InstanceQuery) (Page[*VnfInstance], error) {
	return scan(ctx, m.records, Query{Kind: kindInstance, VNFD: q.VnfdID, States: texts(q.States)}, q.After, q.Limit,
		func(rec *instanceRecord, version int64) (*VnfInstance, bool) {
			view := rec.view(m.cfg.PublicParams...)
			view.Version = documentVersion(version, 0)
			return view, q.Match == nil || q.Match(view)
		})
}

// Operations returns operation occurrences, the oldest first; errors are as for Instances.
func (m *Manager) Operations(ctx context.Context, q OperationQuery) (Page[*VnfLcmOpOcc], error) {
	where := Query{Kind: kindOperation, Instance: q.InstanceID, VNFD: q.VnfdID, States: texts(q.States), Operations: texts(q.Operations),
		From: instant(q.StartedFrom), Before: instant(q.StartedBefore)}
	return scan(ctx, m.records, where, q.After, q.Limit, func(rec *operationRecord, version int64) (*VnfLcmOpOcc, bool) {
		occ := m.showOperation(ctx, rec, version)
		return occ, q.Match == nil || q.Match(occ)
	})
}

// scan returns a page of the records that q selects. show returns the item for a record, and false if the page omits
// it.
func scan[R, T any](ctx context.Context, r *records, q Query, after string, limit int, show func(*R, int64) (T, bool)) (page Page[T], err error) {
	if err := r.continueAfter(&q, after); err != nil {
		return page, err
	}
	var errs []error
	for scanned := 0; ; {
		q.Limit = pageSize
		if limit > 0 {
			q.Limit = min(pageSize, limit-len(page.Items)+1)
		}
		list, err := r.store.List(ctx, q)
		if err != nil {
			return page, errors.Join(append(errs, err)...)
		}
		for _, stored := range list {
			if limit > 0 && (len(page.Items) == limit || scanned == maxScanned) {
				page.Next, err = r.position(&q)
				return page, errors.Join(append(errs, err)...)
			}
			scanned++
			q.AfterStart, q.AfterID = stored.Index.Start, stored.ID
			rec := new(R)
			if err := r.open(stored, rec); err != nil {
				errs = append(errs, err)
			} else if item, ok := show(rec, stored.Version); ok {
				page.Items = append(page.Items, item)
			}
		}
		if len(list) < q.Limit {
			return page, errors.Join(errs...)
		}
	}
}

// position returns where the list stands, as continueAfter reads it. It is sealed, because it names the last record that was looked at,
// which the page may omit: a record of another tenant.
func (r *records) position(q *Query) (string, error) {
	sealed, err := r.keys.Seal([]byte(strconv.FormatInt(q.AfterStart, 10)+"."+q.AfterID), pageOf(q))
	return base64.RawURLEncoding.EncodeToString(sealed), err
}

// pageOf is the identity that a position is sealed with: it continues lists of the same kind only.
func pageOf(q *Query) []byte { return []byte("page of " + q.Kind) }

func (r *records) continueAfter(q *Query, position string) (err error) {
	if position == "" {
		return nil
	}
	sealed, errText := base64.RawURLEncoding.DecodeString(position)
	clear, errSeal := r.keys.Open(sealed, pageOf(q))
	start, id, found := strings.Cut(string(clear), ".")
	q.AfterStart, err = strconv.ParseInt(start, 10, 64)
	if q.AfterID = id; errors.Join(errText, errSeal, err) != nil || !found {
		return &ParamError{Path: "after", Value: position, Reason: "is not the end of a page"}
	}
	return nil
}

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

func (rec instanceRecord) index() Index {
	return Index{State: string(rec.Instance.InstantiationState), VNFD: rec.Instance.VnfdID}
}

func (rec operationRecord) index() Index {
	return Index{State: string(rec.Occ.OperationState), Operation: string(rec.Occ.Operation), Instance: rec.Occ.VnfInstanceID,
		VNFD: rec.VNF.VnfdID, Start: rec.Occ.StartTime.UnixNano()}
}

// allOf reads every record of a query in pages of q.Limit, default pageSize, for work that must not hold them all in memory.
func (r *records) allOf(ctx context.Context, q Query, each func([]Record) error) error {
	for q.Limit = cmp.Or(q.Limit, pageSize); ; {
		list, err := r.store.List(ctx, q)
		if err != nil || len(list) == 0 {
			return err
		}
		last := list[len(list)-1]
		q.AfterStart, q.AfterID = last.Index.Start, last.ID
		if err := each(slices.Clip(list)); err != nil || len(list) < q.Limit {
			return err
		}
	}
}
