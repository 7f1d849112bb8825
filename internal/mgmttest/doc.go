// Package mgmttest is the lab in which the management drivers are tested: a sandbox.World with a Manager on it, what that
// tells (log, events) and keeps (records), the sample package with its requests, and the operations on an instance. A
// driver's own tests embed a Lab and add how they look at what the driver has made:
//
//	l := &lab{t: t, driver: s.driver}
//	l.Lab = mgmttest.Open(t, mgmttest.Setup{Sandbox: s.sandbox, Sample: sample, Drivers: l.drivers})
//	id := l.Instantiated("instantiate.json", with(t, `{"probe":true}`))
//	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
//
// Tests of what outlives a process open the next one with Process: another Manager on the same world and store. Tests with
// many cases on one running cluster make it once, and open each case From its Snapshot.
package mgmttest
