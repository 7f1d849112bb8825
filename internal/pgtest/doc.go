// Package pgtest starts PostgreSQL servers for tests and benchmarks: each has files, a port of the loopback interface and
// a password that no other server has, and is removed when the test ends.
//
//	server := pgtest.Start(t) // skips the test unless VNFKIT_E2E names postgres
//	store, err := postgres.Open(ctx, server.NewDatabase(t), postgres.Options{})
//
// packages.txt names the Debian packages.
package pgtest
