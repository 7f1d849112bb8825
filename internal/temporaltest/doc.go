// Package temporaltest starts Temporal servers on PostgreSQL for tests: each has a database and ports of the loopback interface that
// no other server has, and is removed when the test ends.
//
//	server := temporaltest.Start(t) // skips the test unless VNFKIT_E2E names temporal
//	c := server.Dial(t)
//
// make e2e-temporal builds the server once (build.sh).
package temporaltest
