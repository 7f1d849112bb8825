package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"

	"github.com/vnfkit/vnfkit/vnflcm/store"
	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// schema makes the tables of a store, if they are not there. A record of the feed has its place there in position. The table has
// rowids because of its bodies: without, the rows themselves are the nodes of the tree of primary keys, which is then deep.
const schema = `
CREATE TABLE IF NOT EXISTS vnfkit_records (
	kind      TEXT NOT NULL,
	id        TEXT NOT NULL,
	version   INTEGER NOT NULL,
	state     TEXT NOT NULL,
	operation TEXT NOT NULL,
	instance  TEXT NOT NULL,
	vnfd      TEXT NOT NULL,
	start     INTEGER NOT NULL,
	body      BLOB NOT NULL,
	position  INTEGER,
	PRIMARY KEY (kind, id));
CREATE INDEX IF NOT EXISTS vnfkit_by_start ON vnfkit_records (kind, start, id);
CREATE INDEX IF NOT EXISTS vnfkit_by_state ON vnfkit_records (kind, state, start, id) WHERE state <> '';
CREATE INDEX IF NOT EXISTS vnfkit_by_instance ON vnfkit_records (kind, instance, start, id) WHERE instance <> '';
` + selection.Indexes + `
CREATE UNIQUE INDEX IF NOT EXISTS vnfkit_feed ON vnfkit_records (position) WHERE position IS NOT NULL;
CREATE TABLE IF NOT EXISTS vnfkit_positions (last INTEGER NOT NULL);
INSERT INTO vnfkit_positions SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM vnfkit_positions);
PRAGMA user_version = 2;`

// format is the user_version of schema.
const format = 2

func placeholder(int) string { return "?" }

// Get implements store.Store.
func (s *Store) Get(ctx context.Context, kind, id string) (r store.Record, err error) {
	if err := s.files[:1].check(); err != nil {
		return r, err
	}
	err = s.get.QueryRowContext(ctx, kind, id).Scan(selection.Fields(&r)...)
	if errors.Is(err, sql.ErrNoRows) {
		return store.Record{}, store.ErrNotFound
	}
	return r, wrap("get", err)
}

// List implements store.Store.
func (s *Store) List(ctx context.Context, q store.Query) (out []store.Record, err error) {
	if err := s.files[:1].check(); err != nil {
		return nil, err
	}
	query, args := selection.Of(q, placeholder)
	readers := s.readers
	if q.Background {
		readers = s.lists
	}
	rows, err := readers.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, wrap("list", err)
	}
	defer func() { err = errors.Join(err, wrap("list", rows.Err()), wrap("list", rows.Close())) }()
	for rows.Next() {
		var r store.Record
		if err := rows.Scan(selection.Fields(&r)...); err != nil {
			return nil, wrap("list", err)
		}
		out = append(out, r)
	}
	return out, nil
}

const feedQuery = `SELECT ` + selection.Columns + `, position FROM vnfkit_records
	WHERE position IS NOT NULL AND position > ? ORDER BY position LIMIT ?`

// Feed implements store.Store. There is one writer at a time, so positions are in the order of the commits.
func (s *Store) Feed(ctx context.Context, after string, limit int) (list []store.Record, next string, err error) {
	if err := s.files[:1].check(); err != nil {
		return nil, after, err
	}
	position := int64(0)
	if after != "" {
		if position, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, after, fmt.Errorf("%w: the position %q", store.ErrInvalid, after)
		}
	}
	if limit == 0 {
		err := s.readers.QueryRowContext(ctx, `SELECT last FROM vnfkit_positions`).Scan(&position)
		return nil, strconv.FormatInt(position, 10), wrap("feed", err)
	}
	rows, err := s.readers.QueryContext(ctx, feedQuery, position, limit)
	if err != nil {
		return nil, after, wrap("feed", err)
	}
	defer func() { err = errors.Join(err, wrap("feed", rows.Err()), wrap("feed", rows.Close())) }()
	for rows.Next() {
		var r store.Record
		if err := rows.Scan(append(selection.Fields(&r), &position)...); err != nil {
			return nil, after, wrap("feed", err)
		}
		list = append(list, r)
		next = strconv.FormatInt(position, 10)
	}
	if next == "" {
		next = after
	}
	return list, next, nil
}

// changes are the statements that write, prepared for the connection of the writer.
type changes struct{ version, position, insert, update, reindex, remove *sql.Stmt }

func prepareChanges(ctx context.Context, db *sql.DB) (c changes, err error) {
	for _, s := range []struct {
		statement **sql.Stmt
		text      string
	}{
		{&c.version, `SELECT version FROM vnfkit_records WHERE kind = ? AND id = ?`},
		{&c.position, `UPDATE vnfkit_positions SET last = last + 1 RETURNING last`},
		{&c.insert, `INSERT INTO vnfkit_records (` + selection.Columns + `, position) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (kind, id) DO NOTHING`},
		// SQLite rewrites the index entries of every column that a statement sets, changed or not.
		{&c.update, `UPDATE vnfkit_records SET (version, body) = (?3, ?9) WHERE kind = ?1 AND id = ?2 AND version = ?3 - 1
			AND (state, operation, instance, vnfd, start) = (?4, ?5, ?6, ?7, ?8)`},
		{&c.reindex, `UPDATE vnfkit_records SET (version, state, operation, instance, vnfd, start, body) = (?3, ?4, ?5, ?6, ?7, ?8, ?9)
			WHERE kind = ?1 AND id = ?2 AND version = ?3 - 1`},
		{&c.remove, `DELETE FROM vnfkit_records WHERE kind = ? AND id = ? AND version = ?`},
	} {
		if *s.statement, err = db.PrepareContext(ctx, s.text); err != nil {
			return c, wrap("prepare", err)
		}
	}
	return c, nil
}

// apply makes the changes of a batch within a transaction.
func (c changes) apply(ctx context.Context, tx *sql.Tx, b store.Batch) error {
	for _, r := range b.Assert {
		var version int64
		err := tx.StmtContext(ctx, c.version).QueryRowContext(ctx, r.Kind, r.ID).Scan(&version)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return wrap("assert", err)
		}
		if version != r.Version {
			return store.ErrConflict
		}
	}
	for _, r := range b.Put {
		if err := c.put(ctx, tx, r, nil); err != nil {
			return err
		}
	}
	for _, r := range b.Append {
		var position int64
		if err := tx.StmtContext(ctx, c.position).QueryRowContext(ctx).Scan(&position); err != nil {
			return wrap("append", err)
		}
		if err := c.put(ctx, tx, r, position); err != nil {
			return err
		}
	}
	for _, r := range b.Delete {
		err := one(tx.StmtContext(ctx, c.remove).ExecContext(ctx, r.Kind, r.ID, r.Version))
		if err != nil {
			return err
		}
	}
	return nil
}

// put inserts a record with its position in the feed, nil for none, or updates it.
func (c changes) put(ctx context.Context, tx *sql.Tx, r store.Record, position any) error {
	was := r.Version
	r.Version++
	values := selection.Values(r)
	if was == 0 {
		return one(tx.StmtContext(ctx, c.insert).ExecContext(ctx, append(values, position)...))
	}
	err := one(tx.StmtContext(ctx, c.update).ExecContext(ctx, values...))
	if errors.Is(err, store.ErrConflict) {
		err = one(tx.StmtContext(ctx, c.reindex).ExecContext(ctx, values...))
	}
	return err
}

// one returns ErrConflict unless the statement changed a record.
func one(result sql.Result, err error) error {
	if err != nil {
		return wrap("write", err)
	}
	if changed, err := result.RowsAffected(); err != nil || changed == 0 {
		return errors.Join(err, store.ErrConflict)
	}
	return nil
}

func wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlite: %s: %w", verb, err)
}
