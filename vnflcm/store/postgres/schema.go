package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/vnfkit/vnfkit/vnflcm/store/internal/selection"
)

// migrations[i] takes the tables from version i to version i+1. Once released, a migration never changes.
var migrations = []string{`
CREATE TABLE vnfkit_records (
	kind      TEXT COLLATE "C" NOT NULL,
	id        TEXT COLLATE "C" NOT NULL,
	version   BIGINT NOT NULL,
	state     TEXT COLLATE "C" NOT NULL,
	operation TEXT COLLATE "C" NOT NULL,
	instance  TEXT COLLATE "C" NOT NULL,
	vnfd      TEXT COLLATE "C" NOT NULL,
	start     BIGINT NOT NULL,
	body      BYTEA NOT NULL,
	-- The position in the feed, NULL outside of it: era, transaction, and the place among the records of the transaction.
	era       BIGINT,
	xid       XID8,
	seq       INTEGER);
ALTER TABLE vnfkit_records ALTER COLUMN body SET STORAGE EXTERNAL; -- sealed bodies cannot be compressed
CREATE INDEX vnfkit_by_start ON vnfkit_records (kind, start, id);
CREATE INDEX vnfkit_by_state ON vnfkit_records (kind, state, start, id) WHERE state <> '';
CREATE INDEX vnfkit_by_instance ON vnfkit_records (kind, instance, start, id) WHERE instance <> '';
CREATE UNIQUE INDEX vnfkit_by_position ON vnfkit_records (era, xid, seq) WHERE era IS NOT NULL;
-- The last index: of indexes that cost the same, as all do while the table is small, the planner takes the newest. With
-- vnfkit_by_start a statement for one record would read all records of the kind, as long as its plan is cached.
ALTER TABLE vnfkit_records ADD PRIMARY KEY (kind, id);

-- One row: the current era, and the cluster in which it began. The first connection begins era 1.
CREATE TABLE vnfkit_era (era BIGINT NOT NULL, cluster TEXT NOT NULL);
INSERT INTO vnfkit_era VALUES (0, '');

-- A statement that finds another version than expected calls it, which rolls the batch back.
CREATE FUNCTION vnfkit_conflict() RETURNS INTEGER LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	RAISE EXCEPTION 'vnfkit: a record has another version' USING ERRCODE = '` + codeConflict + `';
END $$;
`}

// migrationLock is the key of the advisory lock that a process holds while it updates the tables.
const migrationLock = 0x766e666b6974 // "vnfkit"

// oldestServer is the first version of PostgreSQL with 64-bit transaction ids (xid8).
const oldestServer = 13_00_00

// migrate creates or updates the tables. If they are current, it changes nothing and needs no right to. Indexes that are missing
// are built if the role may do so: without them lists take longer.
func migrate(ctx context.Context, conn *pgx.Conn) error {
	var server int
	if err := conn.QueryRow(ctx, `SELECT current_setting('server_version_num')::integer`).Scan(&server); err != nil {
		return err
	}
	if server < oldestServer {
		return fmt.Errorf("the server has version %d.%d, vnfkit needs 13 or later", server/10_000, server%10_000)
	}
	version, err := schemaVersion(ctx, conn)
	if err == nil && version < len(migrations) {
		err = updateTables(ctx, conn)
	}
	if err != nil {
		return err
	}
	return addIndexes(ctx, conn)
}

func updateTables(ctx context.Context, conn *pgx.Conn) error {
	return locked(ctx, conn, func(tx pgx.Tx) error {
		// The statement looks the table up even if this session has just not found it, which it remembers until the transaction ends.
		if _, err := tx.Exec(ctx, `CREATE TABLE IF NOT EXISTS vnfkit_schema (version INTEGER NOT NULL)`); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `INSERT INTO vnfkit_schema SELECT 0 WHERE NOT EXISTS (SELECT FROM vnfkit_schema)`); err != nil {
			return err
		}
		version, err := schemaVersion(ctx, tx.Conn()) // another process may have been first
		if err != nil || version == len(migrations) {
			return err
		}
		for i, statements := range migrations[version:] {
			if _, err := tx.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol); err != nil { // several statements
				return fmt.Errorf("update to version %d: %w", version+i+1, err)
			}
		}
		_, err = tx.Exec(ctx, `UPDATE vnfkit_schema SET version = $1`, len(migrations))
		return err
	})
}

// locked calls update in a transaction that no other process updates the tables in at the same time.
func locked(ctx context.Context, conn *pgx.Conn, update func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
			return err
		}
		return update(tx)
	})
}

// addIndexes builds the indexes that are missing. Processes of earlier versions continue to use a database that has them. A role that does not own the table may not build them.
func addIndexes(ctx context.Context, conn *pgx.Conn) error {
	var complete bool
	err := conn.QueryRow(ctx, `SELECT to_regclass('vnfkit_by_vnfd') IS NOT NULL AND to_regclass('vnfkit_by_operation') IS NOT NULL`).Scan(&complete)
	if err != nil || complete {
		return err
	}
	err = locked(ctx, conn, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, selection.Indexes, pgx.QueryExecModeSimpleProtocol) // several statements
		return err
	})
	if hasCode(err, "42501") { // insufficient_privilege
		return nil
	}
	return err
}

// schemaVersion returns the version of the tables, 0 if there are no tables. An unknown version is an error.
func schemaVersion(ctx context.Context, conn *pgx.Conn) (version int, err error) {
	var exists bool
	if err := conn.QueryRow(ctx, `SELECT to_regclass('vnfkit_schema') IS NOT NULL`).Scan(&exists); err != nil || !exists {
		return 0, err
	}
	if err := conn.QueryRow(ctx, `SELECT version FROM vnfkit_schema`).Scan(&version); err != nil {
		return 0, err
	}
	if version > len(migrations) {
		return 0, fmt.Errorf("the tables have version %d, this version of vnfkit knows versions up to %d: use the newer vnfkit", version, len(migrations))
	}
	return version, nil
}
