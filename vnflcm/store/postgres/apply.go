package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/vnfkit/vnfkit/internal/retry"
	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// codeConflict is the SQLSTATE that vnfkit_conflict raises. The class VK is not used by PostgreSQL.
const codeConflict = "VK001"

// The statements of a batch. Those that find no record of the expected version raise codeConflict.
const (
	// FOR SHARE makes other transactions wait that would change the record before this one commits.
	assertion  = `SELECT coalesce((SELECT 1 FROM vnfkit_records WHERE kind = $1 AND id = $2 AND version = $3 FOR SHARE), vnfkit_conflict())`
	insertion  = `INSERT INTO vnfkit_records (` + selection.Columns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`
	appending  = `INSERT INTO vnfkit_records (` + selection.Columns + `, ` + feedColumns + `) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, ` + feedValues + `)`
	updating   = `WITH found AS (UPDATE vnfkit_records SET ` + recordUpdate + expected + ` RETURNING 1) ` + mustBeFound
	reposition = `WITH found AS (UPDATE vnfkit_records SET ` + recordUpdate + `, (` + feedColumns + `) = ROW(` + feedValues + `)` + expected + ` RETURNING 1) ` + mustBeFound
	deletion   = `WITH found AS (DELETE FROM vnfkit_records WHERE kind = $1 AND id = ANY ($2::text[])
		AND version = ($3::bigint[])[array_position($2::text[], id)] RETURNING 1)
		SELECT CASE WHEN count(*) < cardinality($2::text[]) THEN vnfkit_conflict() END FROM found`
	removal = `DELETE FROM vnfkit_records WHERE kind = $1 AND id = $2`

	mustBeFound  = `SELECT coalesce((SELECT 1 FROM found), vnfkit_conflict())`
	recordUpdate = `version = $3, state = $4, operation = $5, instance = $6, vnfd = $7, start = $8, body = $9`
	expected     = ` WHERE kind = $1 AND id = $2 AND version = $3 - 1`
	feedColumns  = `era, xid, seq`
	feedValues   = `(SELECT era FROM vnfkit_era), pg_current_xact_id(), $10`
)

// Apply implements store.Store. It takes one round trip.
func (s *Store) Apply(ctx context.Context, b store.Batch) error {
	if err := ctx.Err(); err != nil {
		return wrap(ctx, "apply", err)
	}
	repeat := retry.Policy{First: 5 * time.Millisecond, Most: 250 * time.Millisecond, Within: patience, If: mayRepeat}
	err := repeat.Do(ctx, func() error { return s.pool.SendBatch(ctx, statements(b)).Close() })
	switch {
	case isConflict(err):
		return store.ErrConflict
	case err != nil:
		return wrap(ctx, "apply", err)
	}
	if b.Wake || len(b.Append) > 0 {
		s.notify()
	}
	return nil
}

// patience is how long Apply repeats a batch that the server rolls back because of other transactions.
const patience = 10 * time.Second

// mayRepeat reports whether the server has rolled the batch back because of other transactions: a serialization
// failure, if the database has a stricter isolation than READ COMMITTED, or a deadlock with a client that locks in
// another order.
func mayRepeat(err error) bool { return hasCode(err, "40001", "40P01") }

func isConflict(err error) bool {
	failure, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (failure.Code == codeConflict || failure.Code == "23505" && failure.ConstraintName == "vnfkit_records_pkey")
}

// change is the effect of a batch on one record.
type change struct {
	record store.Record
	queue  func(*pgx.Batch, store.Record) // nil deletes the record
}

// statements writes a batch as statements that pgx sends in one message exchange. PostgreSQL runs them as one transaction,
// because only the last one is followed by a Sync: it commits after the last one, and rolls all back when one fails. In
// simple_protocol mode they are one query string, which is one transaction too. All batches lock records in the same order.
func statements(b store.Batch) *pgx.Batch {
	var changes []change
	for _, r := range b.Assert {
		changes = append(changes, change{r, queueAssertion})
	}
	for _, r := range b.Put {
		changes = append(changes, change{r, queuePut})
	}
	for seq, r := range b.Append {
		changes = append(changes, change{r, func(out *pgx.Batch, r store.Record) { queueAppend(out, r, seq) }})
	}
	for _, r := range b.Delete {
		changes = append(changes, change{r, nil})
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.record.Kind, b.record.Kind), cmp.Compare(a.record.ID, b.record.ID))
	})
	out := &pgx.Batch{}
	for len(changes) > 0 {
		n := deletions(changes)
		if n > 0 {
			queueDeletion(out, changes[:n])
		} else {
			n = 1
			changes[0].queue(out, changes[0].record)
		}
		changes = changes[n:]
	}
	return out
}

// deletions counts the changes at the beginning that delete records of one kind: one statement deletes them.
func deletions(changes []change) int {
	n := slices.IndexFunc(changes, func(c change) bool { return c.queue != nil || c.record.Kind != changes[0].record.Kind })
	if n < 0 {
		return len(changes)
	}
	return n
}

// queueAssertion locks the record. A record that must not exist is inserted and removed again: until this transaction
// ends no other one can insert it.
func queueAssertion(out *pgx.Batch, r store.Record) {
	if r.Version == 0 {
		out.Queue(insertion, selection.Values(store.Record{Kind: r.Kind, ID: r.ID})...)
		out.Queue(removal, r.Kind, r.ID)
		return
	}
	out.Queue(assertion, r.Kind, r.ID, r.Version)
}

func queuePut(out *pgx.Batch, r store.Record) {
	statement := updating
	if r.Version == 0 {
		statement = insertion
	}
	r.Version++
	out.Queue(statement, selection.Values(r)...)
}

func queueAppend(out *pgx.Batch, r store.Record, seq int) {
	statement := reposition
	if r.Version == 0 {
		statement = appending
	}
	r.Version++
	out.Queue(statement, append(selection.Values(r), seq)...)
}

// queueDeletion deletes records of one kind.
func queueDeletion(out *pgx.Batch, gone []change) {
	ids, versions := make([]string, len(gone)), make([]int64, len(gone))
	for i, c := range gone {
		ids[i], versions[i] = c.record.ID, c.record.Version
	}
	out.Queue(deletion, gone[0].record.Kind, ids, versions)
}
