package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, kind, id string) (r store.Record, err error) {
	if err := ctx.Err(); err != nil {
		return store.Record{}, wrap(ctx, "get", err)
	}
	err = s.pool.QueryRow(ctx, selection.One(placeholder), kind, id).
		Scan(selection.Fields(&r)...)
	if errors.Is(err, pgx.ErrNoRows) {
		return store.Record{}, store.ErrNotFound
	}
	return r, wrap(ctx, "get", err)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, q store.Query) ([]store.Record, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap(ctx, "list", err)
	}
	query, args := selection.Of(q, placeholder)
	pool := s.pool
	if q.Background {
		pool = s.lists
	}
	rows, err := pool.Query(ctx, query, append([]any{s.planned}, args...)...)
	if err != nil {
		return nil, wrap(ctx, "list", err)
	}
	list, err := pgx.AppendRows([]store.Record(nil), rows, func(row pgx.CollectableRow) (r store.Record, err error) {
		return r, row.Scan(selection.Fields(&r)...)
	})
	return list, wrap(ctx, "list", err)
}

func placeholder(n int) string { return "$" + strconv.Itoa(n) }

// feedQuery reads the positions of ended transactions, and none above the oldest running one: a running transaction may
// commit a lower position than later ones that have committed already.
const feedQuery = `SELECT ` + selection.Columns + `, era, xid::text, seq FROM vnfkit_records
	WHERE era IS NOT NULL AND (era, xid, seq) > ($1::bigint, $2::text::xid8, $3::integer)
	AND (era < (SELECT era FROM vnfkit_era) OR xid < pg_snapshot_xmin(pg_current_snapshot()))
	ORDER BY vnfkit_records.era, vnfkit_records.xid, vnfkit_records.seq LIMIT $4::bigint`

// feedEnd reads the position before which feedQuery finds everything, now and later.
const feedEnd = `SELECT era || '.' || pg_snapshot_xmin(pg_current_snapshot()) || '.-1' FROM vnfkit_era`

// Feed implements store.Store. A position is era.transaction.number. A transaction that is open anywhere in the cluster and
// has written something delays the records of later transactions until it ends.
func (s *Store) Feed(ctx context.Context, after string, limit int) ([]store.Record, string, error) {
	if err := ctx.Err(); err != nil {
		return nil, after, wrap(ctx, "feed", err)
	}
	from, err := parsePosition(after)
	if err != nil {
		return nil, after, err
	}
	if limit == 0 {
		err := s.pool.QueryRow(ctx, feedEnd).Scan(&after)
		return nil, after, wrap(ctx, "feed", err)
	}
	rows, err := s.pool.Query(ctx, feedQuery, from.era, strconv.FormatUint(from.xid, 10), from.seq, limit)
	if err != nil {
		return nil, after, wrap(ctx, "feed", err)
	}
	next := after
	list, err := pgx.AppendRows([]store.Record(nil), rows, func(row pgx.CollectableRow) (r store.Record, err error) {
		var era int64
		var xid string
		var seq int32
		err = row.Scan(append(selection.Fields(&r), &era, &xid, &seq)...)
		next = fmt.Sprintf("%d.%s.%d", era, xid, seq)
		return r, err
	})
	if err != nil {
		return nil, after, wrap(ctx, "feed", err)
	}
	return list, next, nil
}

// position is the place of a record in the feed.
type position struct {
	era int64
	xid uint64
	seq int32
}

// parsePosition reads a position that Feed has returned; "" is before all.
func parsePosition(text string) (position, error) {
	if text == "" {
		return position{seq: -1}, nil
	}
	parts := strings.Split(text, ".")
	if len(parts) == 3 {
		era, badEra := strconv.ParseInt(parts[0], 10, 64)
		xid, badXID := strconv.ParseUint(parts[1], 10, 64)
		seq, badSeq := strconv.ParseInt(parts[2], 10, 32)
		if errors.Join(badEra, badXID, badSeq) == nil {
			return position{era: era, xid: xid, seq: int32(seq)}, nil
		}
	}
	return position{}, fmt.Errorf("%w: the position %q", store.ErrInvalid, text)
}
