package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/vnfkit/vnfkit/vnflcm"
)

// Store is a vnflcm.Store. It is safe for concurrent use, by several processes too.
type Store struct{ db *sql.DB }

// New returns a Store on db, whose placeholders are question marks and which knows ON CONFLICT DO NOTHING. Call
// Migrate before the first use. Close of the store closes db.
func New(db *sql.DB) *Store { return &Store{db} }

// Migrate makes the table vnfkit_records if it is not there.
func (s *Store) Migrate(ctx context.Context) error {
	_, err := s.db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS vnfkit_records (
		kind    TEXT NOT NULL,
		id      TEXT NOT NULL,
		version BIGINT NOT NULL,
		body    BLOB NOT NULL,
		PRIMARY KEY (kind, id))`)
	return wrap("migrate", err)
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// Get implements vnflcm.Store.
func (s *Store) Get(ctx context.Context, kind, id string) (vnflcm.Record, error) {
	r := vnflcm.Record{Kind: kind, ID: id}
	err := s.db.QueryRowContext(ctx, `SELECT version, body FROM vnfkit_records WHERE kind = ? AND id = ?`, kind, id).
		Scan(&r.Version, &r.Body)
	if errors.Is(err, sql.ErrNoRows) {
		return vnflcm.Record{}, vnflcm.ErrNotFound
	}
	return r, wrap("get", err)
}

// Apply implements vnflcm.Store.
func (s *Store) Apply(ctx context.Context, b vnflcm.Batch) (err error) {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return wrap("begin", err)
	}
	for _, r := range b.Assert {
		err = errors.Join(err, assert(ctx, tx, r))
	}
	for _, r := range b.Put {
		if err == nil {
			err = put(ctx, tx, r)
		}
	}
	for _, r := range b.Delete {
		if err == nil {
			err = remove(ctx, tx, r)
		}
	}
	if err != nil {
		_ = tx.Rollback() // the batch has failed already
		return err
	}
	return wrap("commit", tx.Commit())
}

func assert(ctx context.Context, tx *sql.Tx, r vnflcm.Record) error {
	var version int64
	err := tx.QueryRowContext(ctx, `SELECT version FROM vnfkit_records WHERE kind = ? AND id = ?`, r.Kind, r.ID).Scan(&version)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return wrap("assert", err)
	}
	if version != r.Version {
		return vnflcm.ErrConflict
	}
	return nil
}

func put(ctx context.Context, tx *sql.Tx, r vnflcm.Record) error {
	body := r.Body
	if body == nil {
		body = []byte{}
	}
	if r.Version == 0 {
		return one(tx.ExecContext(ctx, `INSERT INTO vnfkit_records (kind, id, version, body) VALUES (?, ?, 1, ?)
			ON CONFLICT (kind, id) DO NOTHING`, r.Kind, r.ID, body))
	}
	return one(tx.ExecContext(ctx, `UPDATE vnfkit_records SET version = version + 1, body = ?
		WHERE kind = ? AND id = ? AND version = ?`, body, r.Kind, r.ID, r.Version))
}

func remove(ctx context.Context, tx *sql.Tx, r vnflcm.Record) error {
	return one(tx.ExecContext(ctx, `DELETE FROM vnfkit_records WHERE kind = ? AND id = ? AND version = ?`, r.Kind, r.ID, r.Version))
}

// one returns ErrConflict unless the statement changed a record.
func one(result sql.Result, err error) error {
	if err != nil {
		return wrap("write", err)
	}
	if changed, err := result.RowsAffected(); err != nil || changed == 0 {
		return errors.Join(err, vnflcm.ErrConflict)
	}
	return nil
}

// List implements vnflcm.Store.
func (s *Store) List(ctx context.Context, kind, prefix string) (out []vnflcm.Record, err error) {
	query, args := `SELECT id, version, body FROM vnfkit_records WHERE kind = ? AND id >= ?`, []any{kind, prefix}
	if end := after(prefix); end != "" {
		query, args = query+` AND id < ?`, append(args, end)
	}
	rows, err := s.db.QueryContext(ctx, query+` ORDER BY id`, args...)
	if err != nil {
		return nil, wrap("list", err)
	}
	defer func() { err = errors.Join(err, wrap("list", rows.Err()), wrap("list", rows.Close())) }()
	for rows.Next() {
		r := vnflcm.Record{Kind: kind}
		if err := rows.Scan(&r.ID, &r.Version, &r.Body); err != nil {
			return nil, wrap("list", err)
		}
		out = append(out, r)
	}
	return out, nil
}

// after is the least string that is greater than all strings with that prefix, "" if there is none.
func after(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}

func wrap(verb string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("sqlstore: %s: %w", verb, err)
}
