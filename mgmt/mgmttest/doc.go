// Package mgmttest tests management drivers. A [Lab] is a VNF manager whose machines are simulated in the test process
// (infra/sandbox): a test instantiates a package with the driver, looks at the machines, heals and scales.
//
//	l := mgmttest.Open(t, mgmttest.Setup{
//		Package: "testdata/web", // its folder requests has the bodies of requests
//		Drivers: func(pool *sshexec.Pool) map[string]vnflcm.MgmtDriver {
//			return map[string]vnflcm.MgmtDriver{"web": web.New(pool)}
//		},
//	})
//	id := l.Instantiated("instantiate.json", mgmttest.With(t, "web_param", `{"port": 8080}`))
//	l.Must(l.Heal(t.Context(), id, vnflcm.HealVnfRequest{}))
//
// [Crash] runs an operation again and again, kills the process at another point each time, and has the next process finish
// the operation. A test of a restart starts the next process itself ([Lab.Process]). Many tests on one running VNF instantiate
// it once and begin with its [Snapshot].
//
// docs/first-driver.md writes a driver and such tests from the beginning.
package mgmttest
