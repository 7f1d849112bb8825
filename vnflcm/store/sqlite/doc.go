// Package sqlite opens the embedded database that keeps the state of a Manager in one file, without cgo and
// without anything to install:
//
//	store, err := sqlite.Open(ctx, "/var/lib/vnfm/state.db")
//	manager, err := vnflcm.New(ctx, vnflcm.Config{Store: store, ...})
//
// The file is in write-ahead mode, so readers do not wait for writers. Several processes on one machine may
// share it.
package sqlite
