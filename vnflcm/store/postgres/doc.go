// Package postgres keeps the state of Managers in a PostgreSQL database (version 13 or later) that the processes of
// several machines share:
//
//	store, err := postgres.Open(ctx, "postgres://vnfm:secret@db.example.com/vnfm?sslmode=verify-full", postgres.Options{})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store, ...})
//
// Open creates the tables on first use and updates tables of an earlier version. Processes notice each other's changes
// within milliseconds by LISTEN and NOTIFY. docs/store.md describes how to prepare the database and the role, TLS,
// pgbouncer, backup and restore.
package postgres
