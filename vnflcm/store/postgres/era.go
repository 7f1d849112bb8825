package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"
)

// The id of the transaction that appends a record is the position of the record in the feed. Ids only increase within
// one history of one cluster. A cluster that was restored from a backup, or promoted, may assign ids that readers of
// the feed have already seen. Positions therefore begin with an era, which the first connection to such a cluster
// increments.

// identify names the cluster by its system identifier and its timeline: restoring to a point in time and promoting a
// standby begin a new timeline.
const identify = `SELECT system_identifier || '/' || left(pg_walfile_name(pg_current_wal_lsn()), 8) FROM pg_control_system()`

// mustRaise reports whether the current era began in another cluster, $1 being this one (” if unknown): it is recorded so,
// or a position has a transaction id that this cluster has not yet reached.
const mustRaise = `SELECT cluster <> $1 AND $1 <> '' OR coalesce((SELECT xid FROM vnfkit_records r WHERE r.era = e.era
	ORDER BY xid DESC LIMIT 1) >= pg_snapshot_xmax(pg_current_snapshot()), false) FROM vnfkit_era e`

// checkEra raises the era if the database is in another cluster than before.
func checkEra(ctx context.Context, conn *pgx.Conn) error {
	var cluster string
	err := conn.QueryRow(ctx, identify, unprepared(conn)).Scan(&cluster)
	if hasCode(err, "42501") { // the role may not look: only transaction ids remain
		cluster, err = "", nil
	}
	if err != nil {
		return wrap(ctx, "identify the cluster", err)
	}
	var raise bool
	if err := conn.QueryRow(ctx, mustRaise, unprepared(conn), cluster).Scan(&raise); err != nil || !raise {
		return wrap(ctx, "read the era", err)
	}
	return wrap(ctx, "raise the era", pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		// The lock waits for every transaction that has read the era: none of them commits a position of the old era
		// after a reader has seen one of the new era.
		if _, err := tx.Exec(ctx, `LOCK TABLE vnfkit_era IN ACCESS EXCLUSIVE MODE`); err != nil {
			return err
		}
		if err := tx.QueryRow(ctx, mustRaise, cluster).Scan(&raise); err != nil || !raise {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE vnfkit_era SET era = era + 1, cluster = $1`, cluster)
		return err
	}))
}

// unprepared is the mode for a statement that a connection runs once. A mode that the DSN sets, for example for pgbouncer, stays.
func unprepared(conn *pgx.Conn) pgx.QueryExecMode {
	if mode := conn.Config().DefaultQueryExecMode; mode != pgx.QueryExecModeCacheStatement {
		return mode
	}
	return pgx.QueryExecModeExec
}
