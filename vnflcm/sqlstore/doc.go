// Package sqlstore keeps the records of a vnflcm.Manager in a SQL database.
//
// It links no driver: give New a *sql.DB and call Migrate once. For a database in a file, with nothing to
// install, use package sqlite beside it:
//
//	store, err := sqlite.Open(ctx, "/var/lib/vnfm/state.db")
//
// Bodies are sealed by the Manager; the database sees the kind, the id and the version of a record.
package sqlstore
