// Package mgmttest is the lab for tests of management drivers: a sandbox.World with a Manager on it, its
// log, events and records, the sample package with its requests, and the operations on an instance. A
// driver's tests embed a Lab and add checks of the machines:
//
//	l := &lab{t: t, driver: s.driver}
//	l.Lab = mgmttest.Open(t, mgmttest.Setup{Sandbox: s.sandbox, Sample: sample, Drivers: l.drivers})
//	id := l.Instantiated("instantiate.json", with(t, `{"probe":true}`))
//	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
//
// Tests of a restart open the next process with Process: another Manager on the same world and store. Tests with
// many cases on one running cluster set it up once, and open each case From its Snapshot.
package mgmttest
